package import Accounts
package import Storage
import Synchronization

/// What goes wrong in a database, until it is healed: every statement from the nth one on, or each one that matches. One
/// failure alone would heal itself, since a spoiled batch of writes runs again.
package final class Faults: Sendable {
    private struct State {
        var error: StoreError?
        /// Statements that still succeed.
        var passing = 0
        /// Of the statements that fail; nil: of every statement.
        var pattern: String?
        var failures = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// - Parameter number: of the first statement that fails, the next one being 1.
    package func fail(fromStatement number: Int = 1, with error: StoreError = .unavailable("disk full")) {
        state.withLock { $0 = State(error: error, passing: number - 1) }
    }

    /// - Parameter pattern: part of the text of the statements that fail.
    package func fail(at pattern: String, with error: StoreError = .unavailable("disk full")) {
        state.withLock { $0 = State(error: error, pattern: pattern) }
    }

    /// No transaction that writes can begin.
    package func failWrites(with error: StoreError = .unavailable("disk full")) {
        fail(at: Faults.beginOfWrite, with: error)
    }

    /// The statements that have failed since the faults were last set.
    package var failures: Int { state.withLock { $0.failures } }

    package func heal() { state.withLock { $0 = State() } }

    static let beginOfWrite = "BEGIN IMMEDIATE"

    /// Called before every statement.
    func pass(_ sql: String) throws(StoreError) {
        let error = state.withLock { state -> StoreError? in
            guard let error = state.error else { return nil }
            if let pattern = state.pattern {
                guard sql.contains(pattern) else { return nil }
            } else {
                state.passing -= 1
                guard state.passing < 0 else { return nil }
            }
            state.failures += 1
            return error
        }
        if let error { throw error }
    }
}

extension Failure {
    /// What the store had said; nil of any other failure.
    package var ofStore: StoreError? {
        guard let detail, let colon = detail.firstRange(of: ": ") else { return nil }
        let text = String(detail[colon.upperBound...])
        return switch detail[..<colon.lowerBound] {
        case "unavailable": .unavailable(text)
        case "busy": .busy(text)
        case "corrupt": .corrupt(text)
        case "inconsistent": .inconsistent(text)
        default: nil
        }
    }
}
