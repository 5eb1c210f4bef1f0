package import HTTPTypes

/// A response; the server adds `Date`, framing and `Connection`.
package struct ServerResponse: Sendable {
    package enum Body: Sendable {
        case none
        case bytes([UInt8])
        /// Chunked on HTTP/1.1, closed at the end on 1.0. Each chunk is written as the producer yields it.
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

/// Where a streaming body goes. One owner, one loop.
package protocol BodyWriter: AnyObject {
    /// Sends one chunk; returns when it is with the kernel or in the connection's bounded output buffer.
    func write(_ bytes: [UInt8]) async throws
}
