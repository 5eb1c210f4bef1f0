import Accounts
import Coding
import Crypto
import HTTP
import HTTPTypes

/// `GET /assets/…`: the style sheet, scripts and icon, from memory.
struct AssetRoute: Sendable {
    private let files: StaticFiles
    private let clock: any WallClock

    init(pages: Pages, clock: any WallClock) {
        let startedAt = clock.now().seconds
        files = StaticFiles(
            assets: pages.assets.files.map { path, bytes in
                StaticAsset(
                    path: path, bytes: bytes, lastModified: startedAt, contentHash: SHA256.hash(bytes).hexadecimal)
            })
        self.clock = clock
    }

    func get(_ request: ServerRequest, _ parameters: PathParameters) throws(WebFailure) -> ServerResponse {
        let response = files.respond(to: request, path: parameters["path"] ?? "", now: clock.now().seconds)
        guard response.status != .notFound else { throw WebFailure(.notFound) }
        return response
    }
}
