/// Why a stream ended early.
package enum StreamError: Error, Hashable, Sendable {
    /// The deadline set on the stream passed.
    case deadline
    /// The loop drains, and nothing was in flight here.
    case draining
    /// Closed by our side while somebody waited.
    case aborted
    /// The peer or the network broke the connection; the `errno`.
    case broken(Int32)
    /// The TLS layer refused; a text for the log.
    case tls(String)
}

extension StreamError: CustomStringConvertible {
    /// The end of a sentence for the operator: `connection refused`.
    package var description: String {
        switch self {
        case .deadline: return "the time ran out"
        case .draining: return "this side is stopping"
        case .aborted: return "closed from this side"
        case .broken(let code):
            let message = SystemError.message(code)
            return message.prefix(1).lowercased() + message.dropFirst()
        case .tls(let text): return text
        }
    }
}
