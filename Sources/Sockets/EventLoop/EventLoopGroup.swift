internal import CLinux
internal import Coding
internal import Glibc
internal import Synchronization

/// The loops of a process, one thread each.
package final class EventLoopGroup: Sendable {
    package let loops: [EventLoop]

    /// The default maximum of `server.threads`: each loop has listening sockets, all of which a successor inherits.
    private static let defaultMaximum = 256

    /// - Parameter count: loops to make; 0 makes one per core the process may run on, up to 256.
    package init(count: Int) throws(SystemError) {
        // A peer that closes early must appear as EPIPE on the write, never as a signal.
        _ = signal(SIGPIPE, SIG_IGN)
        // A file that reached its limit must appear as EFBIG on the write, like a full disk.
        _ = signal(SIGXFSZ, SIG_IGN)
        let total = count > 0 ? count : min(Int(bramley_available_cores()), Self.defaultMaximum)
        loops = try (0..<total).map { index throws(SystemError) in try EventLoop(index: index) }
    }

    /// Starts the threads, runs `root` on every loop as a task that prefers it, and ends the threads after all.
    package func run(_ root: @escaping @Sendable (EventLoop) async -> Void) async throws(SystemError) {
        var threads: [pthread_t] = []
        for loop in loops { threads.append(try SystemThread.start { loop.run() }) }
        await withDiscardingTaskGroup { group in
            for loop in loops { group.addTask(executorPreference: loop) { await root(loop) } }
        }
        for loop in loops { loop.stop() }
        for thread in threads { _ = pthread_join(thread, nil) }
    }

    /// Runs `work` with a group of one loop: for a process that serves nothing.
    /// - Throws: also when no descriptors are left for a loop.
    package static func withOneLoop<Value: Sendable>(_ work: (EventLoopGroup) async throws -> Value) async throws
        -> Value
    {
        let group = try EventLoopGroup(count: 1)
        async let running: Void = group.run { loop in await loop.runRoot { $0.close() } }
        let result = await Result { try await work(group) }
        group.beginDrain()
        group.abort()
        try await running
        return try result.get()
    }

    /// Waits on the caller's loop, or on the first one; false when that began to drain first.
    package func sleep(milliseconds: Int64) async -> Bool {
        let loop = loops.first { $0.isOnLoop } ?? loops[0]
        return await withTaskExecutorPreference(loop) {
            await loop.sleep(until: Deadline.now.adding(milliseconds: milliseconds))
        }
    }

    /// Stops accepting and ends what is idle; requests in flight continue.
    /// - Parameter milliseconds: after this time, remaining connections are closed.
    package func beginDrain(abortAfter milliseconds: Int64 = .max) {
        let deadline = Deadline.now.adding(milliseconds: milliseconds)
        for loop in loops { loop.beginDrain(abortAt: deadline) }
    }

    /// Closes the listening sockets, which another process also has. Each connection gets one more answer, idle ones
    /// too if they ask; `beginDrain` ends those that do not.
    package func retire() {
        for loop in loops { loop.retire() }
    }

    package func abort() {
        for loop in loops { loop.abortAll() }
    }
}
