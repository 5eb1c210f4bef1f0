internal import HTTPTypes
internal import Sockets
import Synchronization

/// A request with content on its way to its handler, which then has it alone: so the content can be zeroed where it lies
/// once it is answered. It may hold a password, a code or a token.
final class HandedContent: Sendable {
    private let request: Mutex<ServerRequest?>

    init(_ request: ServerRequest) {
        self.request = Mutex(request)
    }

    func answer(by handler: any RequestHandler) async -> ServerResponse {
        guard var request = request.withLock({ $0.take() }) else { return ServerResponse(status: .internalServerError) }
        let response = await handler.respond(to: request)
        // In place, unless the handler keeps the content: whoever does looks after it.
        request.body.wipe()
        return response
    }
}
