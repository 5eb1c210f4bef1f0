package import HTTPTypes

/// A response; the server adds `Date`, framing and `Connection`.
package struct ServerResponse: Sendable {
    package enum Body: Sendable {
        case none
        case bytes([UInt8])
        /// Chunked on HTTP/1.1, ended by closing on 1.0. Each chunk is written as the producer yields it.
        case stream(@Sendable (BodyWriter) async throws -> Void)
    }

    package var status: HTTPResponse.Status
    package var fields: HTTPFields
    package var body: Body

    package init(status: HTTPResponse.Status, fields: HTTPFields = HTTPFields(), body: Body = .none) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// RFC 9110 §6.4.1: no content, whatever the handler returned.
    var hasNoContent: Bool { status.code == 204 || status.code == 304 || status.code < 200 }
}

/// The sink of a streaming body. One owner, one loop.
package struct BodyWriter {
    private let send: ([UInt8]) async throws -> Void

    package init(_ send: @escaping ([UInt8]) async throws -> Void) { self.send = send }

    /// Sends one chunk; returns when it is in the kernel or the bounded output buffer, and others had their turn.
    package func write(_ bytes: [UInt8]) async throws { try await send(bytes) }
}

/// How long the peer of a streamed response may fail to take it, over all its chunks.
///
/// A deadline for each chunk would let a reader take each at the last moment, as long as there are chunks. So the
/// waiting time is added up, and only bytes that the peer takes earn some of it back: below `minimumRate` on average
/// the response ends. The producer's own time is not counted.
package struct WritePatience: Hashable, Sendable {
    /// The rate that a reader must not stay below for long, in bytes per second.
    package static let minimumRate: Int64 = 8192

    private let most: Int64
    /// Milliseconds.
    package private(set) var left: Int64

    /// - Parameter milliseconds: without a byte taken; `ServerTimeouts.write`.
    package init(_ milliseconds: Int64) {
        most = milliseconds
        left = milliseconds
    }

    /// - Parameter waited: milliseconds until the bytes were taken.
    package mutating func record(bytes: Int, waited: Int64) {
        left = max(0, min(most, left - waited + Int64(bytes) * 1000 / Self.minimumRate))
    }
}
