internal import Synchronization

/// How many bytes the contents of all requests may have together while they come in, over all loops. Without it, as many
/// connections as there may be would each have a whole content in memory, and cost nobody but us anything.
package final class ContentBudget: Sendable {
    /// Memory for content up to this size is free, in bytes: as much is set aside anyhow, and the number of connections
    /// bounds it.
    static let free = 16_384
    /// What a server has unless told otherwise, in bytes: 128 of the largest contents there are by default.
    package static let standard = 64 << 20

    private let left: Atomic<Int>

    /// - Parameter bytes: in all.
    package init(bytes: Int = ContentBudget.standard) {
        left = Atomic(bytes)
    }

    /// What may still be taken, in bytes.
    package var remaining: Int { left.load(ordering: .relaxed) }

    fileprivate func take(_ count: Int) -> Bool {
        let rest = left.subtract(count, ordering: .relaxed).newValue
        guard rest < 0 else { return true }
        give(count)
        return false
    }

    fileprivate func give(_ count: Int) {
        left.add(count, ordering: .relaxed)
    }
}

/// One request's part of a budget, given back with it. Belongs to the loop of its connection.
final class ContentReservation {
    /// Taken in steps, so that counting costs nothing beside reading.
    private static let step = 65_536

    private let budget: ContentBudget
    private var held = 0

    init(_ budget: ContentBudget) {
        self.budget = budget
    }

    deinit { give() }

    /// Makes room for a content of so many bytes; false when there is none.
    func cover(_ size: Int) -> Bool {
        guard size > held + ContentBudget.free else { return true }
        let more = max(Self.step, size - ContentBudget.free - held)
        guard budget.take(more) else { return false }
        held += more
        return true
    }

    /// The content is gone.
    func give() {
        budget.give(held)
        held = 0
    }
}
