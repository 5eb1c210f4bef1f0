internal import CLinux
internal import Glibc

/// Starts threads: those of the loops, and those for what blocks.
enum SystemThread {
    private final class Work: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Starts a thread that ends with `work`; the caller joins or detaches it.
    static func start(_ work: @escaping @Sendable () -> Void) throws(SystemError) -> pthread_t {
        var thread: pthread_t = 0
        // Invariant: the retained reference is taken back exactly once: by the thread, or here when none was started.
        let retained = unsafe Unmanaged.passRetained(Work(work))
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
        return thread
    }
}
