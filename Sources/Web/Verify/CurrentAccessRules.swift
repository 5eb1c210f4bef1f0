import Synchronization

/// The access rules in force: those of the start, until SIGHUP brings others. One for all loops.
package final class CurrentAccessRules: Sendable {
    private let rules: Mutex<AccessRules?>
    private let counter = Atomic<UInt64>(0)

    /// - Parameter rules: nil lets everybody in who is signed in.
    package init(_ rules: AccessRules?) {
        self.rules = Mutex(rules)
    }

    /// Grows with every change: whoever keeps a copy compares it before each use.
    var generation: UInt64 { counter.load(ordering: .acquiring) }

    package var current: AccessRules? { rules.withLock { $0 } }

    /// The rules, and the generation they are of.
    func read() -> (AccessRules?, generation: UInt64) {
        rules.withLock { ($0, counter.load(ordering: .relaxed)) }
    }

    /// Puts others in force: the next request is judged by them.
    /// - Returns: whether they differ from those before.
    package func replace(with others: AccessRules?) -> Bool {
        rules.withLock { rules in
            guard rules != others else { return false }
            rules = others
            counter.add(1, ordering: .releasing)
            return true
        }
    }
}
