internal import HTTP

extension HTTPClientError {
    /// Why an application's endpoint did not answer, for the operator. Contains nothing of what was sent, and of the
    /// answer only how it was invalid.
    var reason: String {
        switch self {
        case .unknownHost: "the name does not resolve"
        case .inside: "the address is not public, and came by the API"
        case .connect: "no connection"
        case .tls(let detail): "TLS: \(detail.prefix(120))"
        case .timeout: "timeout"
        case .closed: "closed before the answer was whole"
        case .malformed(let detail): "no HTTP answer: \(detail.prefix(120))"
        case .tooLarge: "the answer is too long"
        case .proxy(let failure): "proxy: \(failure)"
        }
    }
}
