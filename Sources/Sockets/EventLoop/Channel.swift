/// Identifies one registration in one loop: epoll returns it in its 64 bits of user data.
///
/// The generation increases whenever a slot is reused, so an event already queued for a closed descriptor never reaches
/// the descriptor that reuses its number.
struct ChannelToken: Hashable, Sendable {
    var slot: UInt32
    var generation: UInt32

    var rawValue: UInt64 { UInt64(generation) << 32 | UInt64(slot) }
}

extension ChannelToken {
    init(rawValue: UInt64) {
        self.init(
            slot: UInt32(truncatingIfNeeded: rawValue), generation: UInt32(truncatingIfNeeded: rawValue >> 32))
    }
}

/// Something a loop wakes: by an event of its descriptor, by its deadline, by draining or teardown.
///
/// Proof for `@unchecked Sendable`: `loop` never changes. `token`, `deadline` and `armed` are used only on the loop's
/// thread: by the loop itself, whose `register`, `unregister`, `arm` and turn run there, and by `setDeadline`, which
/// asserts it (`loop.assertOnLoop()`, debug builds). The loop calls `ready`, `expired`, `drain` and `abort`. A
/// reference may travel, because a task that owns a channel prefers that loop as its executor.
package class Channel: @unchecked Sendable {
    package let loop: EventLoop
    var token: ChannelToken?
    /// When `expired()` is due.
    package private(set) var deadline: Deadline = .never
    /// The deadline of this channel's current heap entry; `.never` without one.
    var armed: Deadline = .never

    init(loop: EventLoop) { self.loop = loop }

    /// Moves the deadline. A later one costs nothing: the pending entry is put back when it fires.
    package final func setDeadline(_ deadline: Deadline) {
        loop.assertOnLoop()
        self.deadline = deadline
        if deadline < armed { loop.arm(self) }
    }

    func ready(_ events: UInt32) {}
    func expired() {}
    func drain() {}
    /// Another process takes over new connections.
    func retire() {}
    func abort() {}
    /// Whether closing it now deprives nobody of an answer, as far as is known without asking the kernel.
    func isExpendable(among admission: AdmissionControl) -> Bool { false }
    /// Closes it to make room, unless there is a reason not to; returns whether it did.
    func closeIfIdle() -> Bool { false }
}

/// A deadline without a descriptor: `EventLoop.sleep` and name lookups wait on it.
///
/// Proof for `@unchecked Sendable`: `survivesDraining` never changes. `waiter` and `outcome` belong to the loop's
/// thread like a `Channel`'s own properties: `wait` and `cancel` assert that they run there, the loop calls the rest.
@safe final class TimerChannel: Channel, @unchecked Sendable {
    private var waiter: UnsafeContinuation<Bool, Never>?
    private var outcome: Bool?

    private let survivesDraining: Bool

    /// - Parameter survivesDraining: whether the wait continues when the loop begins to drain.
    init(loop: EventLoop, survivesDraining: Bool = true) {
        self.survivesDraining = survivesDraining
        super.init(loop: loop)
    }

    /// True when the deadline passed, false when something else ended the wait earlier.
    func wait() async -> Bool {
        loop.assertOnLoop()
        if let outcome { return outcome }
        // Invariant: `finish` removes the continuation before it resumes it, so it is resumed exactly once.
        return await unsafe withUnsafeContinuation { unsafe waiter = $0 }
    }

    override func expired() { finish(true) }
    override func drain() { if !survivesDraining { finish(false) } }
    override func abort() { finish(false) }
    /// Ends the wait: what it was for has happened.
    func cancel() {
        loop.assertOnLoop()
        finish(false)
    }

    private func finish(_ result: Bool) {
        guard outcome == nil else { return }
        outcome = result
        loop.unregister(self)
        if let waiter = unsafe waiter {
            unsafe self.waiter = nil
            unsafe waiter.resume(returning: result)
        }
    }
}

/// The end of draining: when it expires, open connections are closed.
///
/// Proof for `@unchecked Sendable`: it adds no state to `Channel`'s.
final class GracePeriod: Channel, @unchecked Sendable {
    override func expired() {
        loop.unregister(self)
        loop.abortAll()
    }
}
