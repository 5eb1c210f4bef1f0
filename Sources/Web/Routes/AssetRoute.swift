import Coding
import Crypto
import HTTP
import HTTPTypes
import RelyingParty

/// `GET /assets/…`: the style sheet, scripts and icon, from memory.
struct AssetRoute: Sendable {
    private let files: StaticFiles
    private let responses: WebResponses
    private let clock: any WallClock

    init(pages: Pages, responses: WebResponses, clock: any WallClock) {
        let startedAt = clock.now().seconds
        files = StaticFiles(
            assets: pages.assets.files.map { path, bytes in
                StaticAsset(
                    path: path, bytes: bytes, lastModified: startedAt, contentHash: SHA256.hash(bytes).hexadecimal)
            })
        self.responses = responses
        self.clock = clock
    }

    func get(_ request: ServerRequest, path: String) -> ServerResponse {
        let response = files.respond(to: request, path: path, now: clock.now().seconds)
        guard response.status == .notFound else { return response }
        return responses.failure(.routing(.notFound), route: "/assets/{path...}", request: request)
    }
}
