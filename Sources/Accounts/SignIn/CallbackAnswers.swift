package import Coding
package import Crypto
import Synchronization

/// Lets identical posts of one callback share one piece of work and, for a while, its answer.
///
/// The first post of a key does the work in its own task. Posts that arrive in the meantime wait for it; posts within
/// `lifetime` afterwards get the same answer from memory. Waiting does not affect the work: a cancelled waiter still
/// waits, and the work has its own deadlines.
package final class CallbackAnswers<Outcome: Sendable>: Sendable {
    /// How long an answer is kept, in milliseconds.
    package static var lifetime: Int64 { 30_000 }

    /// What a post finds at its key.
    private enum Place: Sendable {
        /// Nothing yet: do the work, then call `finish`.
        case owner
        /// Do the work without sharing it: the memory is full. The store still enforces single use.
        case alone
        case answered(Outcome)
    }

    private enum Entry {
        case running([CheckedContinuation<Place, Never>])
        case answered(Outcome, at: Timestamp)
    }

    private struct State {
        var entries: [Digest256: Entry] = [:]
        /// Keys of answered entries, oldest first, beginning at `oldest`.
        var answered: [Digest256] = []
        var oldest = 0

        /// Forgets the oldest answer. Entries before it are removed when they are half of the list: removing each at
        /// once would move all others each time.
        mutating func dropOldest() {
            entries[answered[oldest]] = nil
            oldest += 1
            if oldest * 2 >= answered.count {
                answered.removeFirst(oldest)
                oldest = 0
            }
        }
    }

    private let state = Mutex(State())
    private let capacity: Int
    private let clock: any WallClock
    private let isKept: @Sendable (Outcome) -> Bool

    /// - Parameters:
    ///   - capacity: keys remembered, running and answered together.
    ///   - isKept: whether an answer stays in memory for later posts; otherwise they begin anew.
    package init(
        capacity: Int = 4_096, clock: any WallClock, keeping isKept: @escaping @Sendable (Outcome) -> Bool
    ) {
        self.capacity = capacity
        self.clock = clock
        self.isKept = isKept
    }

    /// The number of keys remembered.
    package var count: Int {
        state.withLock { $0.entries.count }
    }

    /// The number of posts that wait for the first of their key.
    package var waiting: Int {
        state.withLock { state in
            state.entries.values.reduce(0) { total, entry in
                if case .running(let waiters) = entry { total + waiters.count } else { total }
            }
        }
    }

    /// Forgets expired answers. Posts also do this; without posts, the last answers, sessions among them, would stay in
    /// memory.
    package func dropExpired() {
        let now = clock.now()
        state.withLock { Self.expire(&$0, now: now) }
    }

    /// The answer for `key`: from memory, from work in progress, or from `work`.
    /// - Returns: the answer, and whether another post produced it.
    package func answer(
        for key: Digest256, work: () async -> Outcome
    ) async -> (outcome: Outcome, isRemembered: Bool) {
        // The place is found and the waiter registered under one lock, so no answer can slip between the two.
        let place = await withCheckedContinuation { continuation in
            let now = clock.now()
            let immediate = state.withLock { state in
                Self.expire(&state, now: now)
                return enlist(continuation, key: key, in: &state)
            }
            if let immediate { continuation.resume(returning: immediate) }
        }
        switch place {
        case .answered(let outcome): return (outcome, true)
        case .alone: return (await work(), false)
        case .owner:
            let outcome = await work()
            finish(key, with: outcome)
            return (outcome, false)
        }
    }

    private func enlist(
        _ continuation: CheckedContinuation<Place, Never>, key: Digest256, in state: inout State
    ) -> Place? {
        switch state.entries[key] {
        case .answered(let outcome, _):
            return .answered(outcome)
        case .running(var waiters):
            // Emptied first, so that the array is not copied on every append.
            state.entries[key] = .running([])
            waiters.append(continuation)
            state.entries[key] = .running(waiters)
            return nil
        case nil:
            if state.entries.count >= capacity {
                guard state.oldest < state.answered.count else { return .alone }
                state.dropOldest()
            }
            state.entries[key] = .running([])
            return .owner
        }
    }

    private func finish(_ key: Digest256, with outcome: Outcome) {
        let now = clock.now()
        let waiters = state.withLock { state in
            var waiters: [CheckedContinuation<Place, Never>] = []
            if case .running(let enlisted) = state.entries[key] { waiters = enlisted }
            if isKept(outcome) {
                state.entries[key] = .answered(outcome, at: now)
                state.answered.append(key)
            } else {
                state.entries[key] = nil
            }
            return waiters
        }
        for waiter in waiters { waiter.resume(returning: .answered(outcome)) }
    }

    /// Drops what has expired, and everything from the future of a clock that was set back.
    private static func expire(_ state: inout State, now: Timestamp) {
        while state.oldest < state.answered.count {
            guard case .answered(_, let moment) = state.entries[state.answered[state.oldest]] else { break }
            guard now >= moment.adding(milliseconds: lifetime) || now < moment else { break }
            state.dropOldest()
        }
    }
}

extension SignInOutcome {
    /// Whether a reload gets this answer again. After a temporary failure it tries again instead.
    package var isKept: Bool {
        if case .failed(let failure, _, _) = self { !failure.isTemporary } else { true }
    }
}
