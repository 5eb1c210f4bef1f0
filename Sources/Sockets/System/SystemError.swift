internal import CLinux
internal import Glibc

/// A system call that failed, with its `errno`.
package struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    package let call: String
    package let code: Int32

    /// Of a lock: another process holds it, its file is a symbolic link, or not this user's alone.
    package var isHeldByAnother: Bool { code == EWOULDBLOCK }
    package var isOfLink: Bool { code == ELOOP }
    package var isOfOthers: Bool { code == EPERM }
    package var isAlreadyThere: Bool { code == EEXIST }
    /// The reader of a pipe has gone.
    package var isLostReader: Bool { code == EPIPE }

    /// `bind: Address already in use (98)`.
    package var description: String { "\(call): \(Self.message(code)) (\(code))" }

    /// The system's text: `Address already in use`.
    static func message(_ code: Int32) -> String {
        var text = [CChar](repeating: 0, count: 128)
        // Invariant: strerror_r writes at most `text.count` bytes and ends them with NUL.
        _ = unsafe strerror_r(code, &text, text.count)
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// Why a stream ended early.
package enum StreamError: Error, Hashable, Sendable, CustomStringConvertible {
    case deadline
    /// The loop drains, and nothing was in flight here.
    case draining
    /// Closed by our side while somebody waited.
    case aborted
    /// The peer or the network broke the connection; the `errno`.
    case broken(Int32)
    /// The TLS layer refused; a text for the log.
    case tls(String)

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
