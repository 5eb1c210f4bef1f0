package import HTTPTypes

/// A response; the server adds `Date`, framing and `Connection`.
package struct ServerResponse: Sendable {
    package enum Body: Sendable {
        case none
        case bytes([UInt8])
        /// Chunked on HTTP/1.1, ended by closing on 1.0. Each chunk is written as the producer yields it.
        case stream(@Sendable (any BodyWriter) async throws -> Void)
    }

    package var status: HTTPResponse.Status
    package var fields: HTTPFields
    package var body: Body

    package init(status: HTTPResponse.Status, fields: HTTPFields = HTTPFields(), body: Body = .none) {
        self.status = status
        self.fields = fields
        self.body = body
    }
}

/// The sink of a streaming body. One owner, one loop.
package protocol BodyWriter: AnyObject {
    /// Sends one chunk; returns when it is in the kernel or in the connection's bounded output buffer, and others on the
    /// loop had their turn.
    func write(_ bytes: [UInt8]) async throws
}
