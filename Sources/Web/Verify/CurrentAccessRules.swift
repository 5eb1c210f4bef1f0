import Synchronization

/// The access rules in force: those of the start, until SIGHUP loads others. Shared by all loops.
package final class CurrentAccessRules: Sendable {
    private let rules: Mutex<AccessRules?>
    private let counter = Atomic<UInt64>(0)

    /// - Parameter rules: nil admits everybody who is signed in.
    package init(_ rules: AccessRules?) {
        self.rules = Mutex(rules)
    }

    /// Increases with every change: code that keeps a copy compares it before each use.
    var generation: UInt64 { counter.load(ordering: .acquiring) }

    package var current: AccessRules? { rules.withLock { $0 } }

    /// The rules and their generation.
    func read() -> (AccessRules?, generation: UInt64) {
        rules.withLock { ($0, counter.load(ordering: .relaxed)) }
    }

    /// Replaces the rules: they apply from the next request.
    /// - Returns: whether they differ from the previous ones.
    package func replace(with others: AccessRules?) -> Bool {
        rules.withLock { rules in
            guard rules != others else { return false }
            rules = others
            counter.add(1, ordering: .releasing)
            return true
        }
    }
}
