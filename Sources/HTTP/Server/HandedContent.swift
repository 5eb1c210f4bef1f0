internal import HTTPTypes
internal import Sockets
import Synchronization

/// A request with content on its way to its handler, which then has it exclusively, so that the content can be zeroed
/// in place once answered. It may hold a code or a token.
final class HandedContent: Sendable {
    private let request: Mutex<ServerRequest?>

    init(_ request: ServerRequest) {
        self.request = Mutex(request)
    }

    func answer(by handler: any RequestHandler) async -> ServerResponse {
        guard var request = request.withLock({ $0.take() }) else { return ServerResponse(status: .internalServerError) }
        let response = await handler.respond(to: request)
        // In place, unless the handler keeps the content; then the handler is responsible.
        request.body.wipe()
        return response
    }
}
