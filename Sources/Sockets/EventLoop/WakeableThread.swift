internal import CLinux
internal import Glibc

/// A thread for work that may block, such as writing to a pipe that nobody reads: it sleeps until woken, works, and
/// sleeps again. It ends with the process; nothing waits for it.
package final class WakeableThread: Sendable {
    /// Shared with the thread, which may outlive its owner.
    private final class Wakeup: Sendable {
        let descriptor: Descriptor

        init() throws(SystemError) {
            descriptor = Descriptor(owning: try SystemCalls.retrying("eventfd") { eventfd(0, Int32(EFD_CLOEXEC)) })
        }
    }

    private let wakeup: Wakeup

    /// Starts it.
    /// - Parameter turn: called on the thread at least once after each `wake`; false ends the thread.
    package init(_ turn: @escaping @Sendable () -> Bool) throws(SystemError) {
        let wakeup = try Wakeup()
        self.wakeup = wakeup
        let thread = try SystemThread.start {
            var count: UInt64 = 0
            repeat {
                // Invariant: the kernel writes eight bytes, for which there is room, or nothing when interrupted.
                _ = unsafe read(wakeup.descriptor.number, &count, 8)
            } while turn()
        }
        _ = pthread_detach(thread)
    }

    /// Never waits.
    package func wake() {
        var one: UInt64 = 1
        // Invariant: eventfd reads exactly eight bytes, which `one` provides. It would block only at a count of 2^64.
        _ = unsafe write(wakeup.descriptor.number, &one, 8)
    }
}
