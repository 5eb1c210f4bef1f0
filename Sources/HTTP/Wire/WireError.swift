/// Why bytes are not a message we accept. After any of these the connection is closed: where the next message begins is
/// unknown. Each has one line for the log: fixed text without anything the peer sent.
package enum WireError: String, Error, Hashable, Sendable {
    // Limits of `WireLimits`.
    case requestLineTooLong = "request line too long"
    case headerTooLarge = "header block too large"
    case tooManyFields = "too many header fields"
    case bodyTooLarge = "content too large"
    case chunkLineTooLong = "chunk line too long"
    case chunkExtensionsTooLarge = "chunk extensions too large"
    case trailerTooLarge = "trailer section too large"

    // The request line, RFC 9112 §3.
    case invalidMethod = "method is not a token"
    case methodTooLong = "method longer than any implemented"
    case connectRefused = "CONNECT is not implemented"
    case invalidTarget = "invalid request target"
    case invalidVersion = "invalid protocol version"
    case unsupportedVersion = "unsupported protocol version"

    // Lines and fields, RFC 9112 §2.2 and §5.
    case bareLineFeed = "line feed without carriage return"
    case bareCarriageReturn = "carriage return without line feed"
    case emptyFieldName = "empty field name"
    case invalidFieldName = "invalid character in a field name"
    case spaceBeforeColon = "space between field name and colon"
    case obsoleteFolding = "folded field line"
    case invalidFieldValue = "control character in a field value"

    // What fields mean, RFC 9112 §3.2, §6 and RFC 9110 §10.1.1.
    case missingHost = "Host is missing"
    case duplicateHost = "more than one Host"
    case invalidHost = "invalid Host"
    case invalidContentLength = "invalid Content-Length"
    case duplicateContentLength = "more than one Content-Length"
    case contentLengthWithTransferEncoding = "both Content-Length and Transfer-Encoding"
    case invalidTransferEncoding = "invalid Transfer-Encoding"
    case unknownTransferCoding = "unknown transfer coding"
    case transferEncodingOnHTTP10 = "Transfer-Encoding on HTTP/1.0"
    case invalidConnection = "invalid Connection"
    case unsupportedExpectation = "unsupported expectation"

    // Chunked content, RFC 9112 §7.1.
    case invalidChunkSize = "invalid chunk size"
    case invalidChunkExtension = "invalid chunk extension"
    case invalidChunkEnd = "chunk data not followed by CRLF"
    case invalidTrailer = "invalid trailer field"

    // Responses only.
    case invalidStatusLine = "invalid status line"
    case unexpectedSwitchingProtocols = "101 without a requested upgrade"
    case tooManyInterimResponses = "too many interim responses"
    case endedEarly = "connection ended within the message"

    package var reason: String { rawValue }

    /// The status of the answer before closing, for a request.
    package var status: Int {
        switch self {
        case .requestLineTooLong: 414
        case .headerTooLarge, .tooManyFields, .trailerTooLarge: 431
        case .bodyTooLarge: 413
        case .methodTooLong, .connectRefused, .unknownTransferCoding: 501
        case .unsupportedVersion: 505
        case .unsupportedExpectation: 417
        default: 400
        }
    }
}
