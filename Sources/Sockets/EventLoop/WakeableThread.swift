internal import CLinux
internal import Glibc

/// A thread for work that may block, such as writing to a pipe that nobody reads: it sleeps until woken, works, and
/// sleeps again. It ends with the process; nothing waits for it.
package final class WakeableThread: Sendable {
    /// The state the thread shares with its owner, which may be destroyed first.
    private final class Work: Sendable {
        let wakeup: Descriptor
        let turn: @Sendable () -> Bool

        init(_ wakeup: consuming Descriptor, _ turn: @escaping @Sendable () -> Bool) {
            self.wakeup = wakeup
            self.turn = turn
        }

        func run() {
            var count: UInt64 = 0
            while true {
                // Invariant: the kernel writes eight bytes, for which there is room. If interrupted, the turn finds
                // nothing.
                _ = unsafe read(wakeup.number, &count, 8)
                guard turn() else { return }
            }
        }
    }

    private let work: Work

    /// Starts it.
    /// - Parameter turn: called on the thread at least once after each `wake`; false ends the thread.
    package init(_ turn: @escaping @Sendable () -> Bool) throws(SystemError) {
        work = Work(
            Descriptor(owning: try SystemCalls.retrying("eventfd") { eventfd(0, Int32(EFD_CLOEXEC)) }), turn)
        var thread: pthread_t = 0
        // Invariant: the retained reference is taken back exactly once: by the thread, or here when none was started.
        let retained = unsafe Unmanaged.passRetained(work)
        let code = unsafe pthread_create(
            &thread, nil,
            { argument in
                if let argument = unsafe argument {
                    let work = unsafe Unmanaged<Work>.fromOpaque(argument).takeRetainedValue()
                    work.run()
                }
                return nil
            }, retained.toOpaque())
        guard code == 0 else {
            unsafe retained.release()
            throw SystemError(call: "pthread_create", code: code)
        }
        _ = pthread_detach(thread)
    }

    /// Never waits.
    package func wake() {
        var one: UInt64 = 1
        // Invariant: eventfd reads exactly eight bytes, which `one` provides. It would block only at a count of 2^64.
        _ = unsafe write(work.wakeup.number, &one, 8)
    }
}
