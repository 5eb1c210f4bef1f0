package import HTTPTypes
package import Sockets
import Synchronization

/// The protocol version of a request, as far as it matters.
package enum ProtocolVersion: Hashable, Sendable {
    case http10
    /// Also for a higher minor version (RFC 9110 §2.5).
    case http11
    case http2

    package var text: String {
        switch self {
        case .http10: "HTTP/1.0"
        case .http11: "HTTP/1.1"
        case .http2: "HTTP/2"
        }
    }
}

/// A complete request with its content: what an ordinary handler gets.
package struct ServerRequest: Sendable {
    /// Method, `:path` (the origin-form target as sent), authority and fields, in order, without merging duplicates.
    package var head: HTTPRequest
    /// The path of the target, still percent-encoded, without query.
    package var path: String
    /// The part after `?`, still percent-encoded; nil when there is none.
    package var query: String?
    /// The decoded content, at most `limits.body` bytes.
    package var body: [UInt8]
    /// Trailers, in order; never merged into `fields` (RFC 9110 §6.5.1); without those `TrailerFields` excludes.
    package var trailers = HTTPFields()
    package var version = ProtocolVersion.http11
    /// The client: the peer of the socket, of its PROXY header, or of a trusted `X-Forwarded-For`.
    package var client: IPAddress
    /// Whether the peer (of the socket, or its PROXY header) is a proxy whose `X-Forwarded-*` may be trusted.
    package var isFromTrustedProxy: Bool
    /// Of the client, if it can be noticed.
    package var departure: Departure?

    package init(
        head: HTTPRequest, path: String, query: String?, body: [UInt8], client: IPAddress,
        isFromTrustedProxy: Bool
    ) {
        self.head = head
        self.path = path
        self.query = query
        self.body = body
        self.client = client
        self.isFromTrustedProxy = isFromTrustedProxy
    }

    package var method: HTTPRequest.Method { head.method }
    package var fields: HTTPFields { head.headerFields }
    /// Whom its address counts for.
    package var subscriber: String { "\(client.subscriber)" }
}

/// Answers complete requests; called on the event loop that owns the connection.
package protocol RequestHandler: Sendable {
    func respond(to request: ServerRequest) async -> ServerResponse
}

/// Notices that the client of a request has closed its side of the connection, or reset the stream, before it was answered.
package final class Departure: Sendable {
    private struct State {
        var hasLeft = false
        var action: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    package init() {}

    /// Calls `action` once: when the client leaves, or now if it has.
    package func onLeave(_ action: @escaping @Sendable () -> Void) {
        let hasLeft = state.withLock { state in
            if !state.hasLeft { state.action = action }
            return state.hasLeft
        }
        if hasLeft { action() }
    }

    func leave() {
        let action = state.withLock { state in
            state.hasLeft = true
            defer { state.action = nil }
            return state.action
        }
        action?()
    }
}

extension ServerRequest {
    /// For a request that changes nothing: its handler may give up once the client has left.
    mutating func noticeDeparture() -> Departure? {
        guard method == .get, body.isEmpty else { return nil }
        let departure = Departure()
        self.departure = departure
        return departure
    }
}

/// A request with content on its way to its handler, which then has it exclusively, so that the content can be zeroed
/// in place once answered. It may hold a code or a token.
final class HandedContent: Sendable {
    private let request: Mutex<ServerRequest?>

    init(_ request: ServerRequest) { self.request = Mutex(request) }

    func answer(by handler: any RequestHandler) async -> ServerResponse {
        guard var request = request.withLock({ $0.take() }) else { return ServerResponse(status: .internalServerError) }
        let response = await handler.respond(to: request)
        // In place, unless the handler keeps the content; then the handler is responsible.
        request.body.wipe()
        return response
    }
}
