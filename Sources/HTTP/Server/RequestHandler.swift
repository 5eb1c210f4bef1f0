/// Answers complete requests; called on the event loop that owns the connection.
package protocol RequestHandler: Sendable {
    func respond(to request: ServerRequest) async -> ServerResponse
}
