package enum StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Disk full or I/O error: nothing was written.
    case unavailable(String)
    /// Another process held the lock too long.
    case busy(String)
    /// The database is damaged, or its schema is newer.
    case corrupt(String)
    /// A constraint was violated: a bug in Bramley.
    case inconsistent(String)

    package static let late = StoreError.unavailable("no answer in time")

    package var description: String { text }

    /// The case's name and the store's text, for the operator's log.
    package var text: String {
        switch self {
        case .unavailable(let detail): "unavailable: \(detail)"
        case .busy(let detail): "busy: \(detail)"
        case .corrupt(let detail): "corrupt: \(detail)"
        case .inconsistent(let detail): "inconsistent: \(detail)"
        }
    }
}
