import CSpawn
import Dispatch
import Foundation
import Glibc
import Synchronization

/// How a program ended.
package struct Ending: Hashable, Sendable {
    /// The exit code, or the signal's number.
    package var code: Int32
    package var wasSignalled: Bool

    package init(code: Int32, wasSignalled: Bool) {
        self.code = code
        self.wasSignalled = wasSignalled
    }

    /// wait(2)'s status of a process that has ended.
    init(status: Int32) {
        let signal = status & 0x7F
        self.init(code: signal == 0 ? (status >> 8) & 0xFF : signal, wasSignalled: signal != 0)
    }
}

/// A program could not be started.
package struct SpawnFailure: Error, CustomStringConvertible {
    package let description: String

    init(_ what: String, _ number: Int32 = errno) {
        description = unsafe "\(what): \(String(cString: strerror(number)))"
    }
}

/// A program in a process and process group of its own, started by posix_spawn(3).
///
/// Foundation's `Process` is not used: swift-corelibs-foundation looks through `/proc/self/fd` before it starts a
/// program and copies more out of readdir(3)'s buffer than is there, so a test process with many open descriptors dies.
///
/// The program inherits nothing but what is said here: no other descriptor, no ignored signal, no signal mask.
package final class SpawnedProgram: Sendable {
    /// Where standard input comes from.
    package enum Input: Sendable {
        case nothing
        case file(String)
        /// `input` writes to it.
        case pipe
        case descriptor(Descriptor)
    }

    /// Where standard output or standard error goes.
    package enum Output: Sendable {
        /// Where this process writes.
        case inherited
        case nothing
        /// Made or continued.
        case file(String)
        /// `output` or `errors` reads from it.
        case pipe
        case descriptor(Descriptor)
        /// Standard error: where standard output goes.
        case sameAsOutput
    }

    package let pid: Int32
    package let startedAt: ContinuousClock.Instant
    /// Writes to a piped standard input; nil for any other.
    package let input: PipeWriter?
    /// Reads a piped standard output; nil for any other.
    package let output: PipeReader?
    /// Reads a piped standard error; nil for any other.
    package let errors: PipeReader?
    private let watch: Watch

    /// - Parameters:
    ///   - command: the program and its arguments; without a slash it is looked up in the `PATH` it is given.
    ///   - environment: all of it; nil for that of this process.
    ///   - directory: where it works; nil for where this process does.
    /// - Throws: `SpawnFailure` when there is no such program, or it cannot be started.
    package init(
        _ command: [String], environment: [String: String]? = nil, directory: String? = nil, input: Input = .nothing,
        output: Output = .inherited, errors: Output = .inherited
    ) throws(SpawnFailure) {
        let environment = environment ?? ProcessInfo.processInfo.environment
        let path = try Self.find(command.first ?? "", path: environment["PATH"] ?? "/usr/bin:/bin")
        let (standardInput, writer) = try Self.open(input)
        let (standardOutput, reader) = try Self.open(output, standard: 1)
        let (standardError, errorReader) =
            if case .sameAsOutput = errors { (standardOutput, PipeReader?.none) } else {
                try Self.open(errors, standard: 2)
            }
        startedAt = ContinuousClock.now
        pid = try Self.spawn(
            path, command, environment.map { "\($0.key)=\($0.value)" }, directory,
            [standardInput.number, standardOutput.number, standardError.number])
        self.input = writer
        self.output = reader
        self.errors = errorReader
        watch = Watch(pid)
    }

    /// Nil while it runs.
    package var ending: Ending? { watch.ending }

    /// Sends a signal, unless it has ended.
    package func signal(_ number: Int32) { watch.signal(number) }

    package func ended() async -> Ending { await watch.ended() }

    /// The same for threads that may block.
    package func waitUntilEnded() -> Ending { watch.waitUntilEnded() }

    // MARK: Starting

    private static func find(_ name: String, path: String) throws(SpawnFailure) -> String {
        if name.contains("/") { return name }
        for folder in path.split(separator: ":") where !name.isEmpty {
            let candidate = "\(folder)/\(name)"
            if FileManager.default.isExecutableFile(atPath: candidate) { return candidate }
        }
        throw SpawnFailure("\(name) in \(path)", ENOENT)
    }

    private static func open(_ input: Input) throws(SpawnFailure) -> (Descriptor, PipeWriter?) {
        switch input {
        case .nothing: return (try Descriptor(opening: "/dev/null", O_RDONLY), nil)
        case .file(let path): return (try Descriptor(opening: path, O_RDONLY), nil)
        case .descriptor(let descriptor): return (descriptor, nil)
        case .pipe:
            let (reading, writing) = try Descriptor.pipe()
            return (reading, PipeWriter(writing))
        }
    }

    private static func open(_ output: Output, standard: Int32) throws(SpawnFailure) -> (Descriptor, PipeReader?) {
        switch output {
        case .inherited, .sameAsOutput: return (try Descriptor(duplicating: standard), nil)
        case .nothing: return (try Descriptor(opening: "/dev/null", O_WRONLY), nil)
        case .file(let path): return (try Descriptor(opening: path, O_WRONLY | O_CREAT | O_APPEND), nil)
        case .descriptor(let descriptor): return (descriptor, nil)
        case .pipe:
            let (reading, writing) = try Descriptor.pipe()
            return (writing, PipeReader(reading))
        }
    }

    /// - Parameter standard: what become the descriptors 0, 1 and 2; each is above 2.
    private static func spawn(
        _ path: String, _ arguments: [String], _ environment: [String], _ directory: String?, _ standard: [Int32]
    ) throws(SpawnFailure) -> Int32 {
        let argumentPointers = unsafe arguments.map { unsafe strdup($0) } + [nil]
        let environmentPointers = unsafe environment.map { unsafe strdup($0) } + [nil]
        defer { unsafe (argumentPointers + environmentPointers).forEach { unsafe free($0) } }
        var pid: Int32 = 0
        let result = unsafe bramley_spawn(&pid, path, argumentPointers, environmentPointers, directory, standard)
        guard result == 0 else { throw SpawnFailure(path, result) }
        return pid
    }
}

/// Waits for one process on a thread of its own and tells who asked.
private final class Watch: Sendable {
    private struct State {
        var ending: Ending?
        var waiters: [CheckedContinuation<Ending, Never>] = []
    }

    private let pid: Int32
    private let state = Mutex(State())
    private let running = DispatchGroup()

    init(_ pid: Int32) {
        self.pid = pid
        running.enter()
        Thread.detachNewThread { self.reap() }
    }

    var ending: Ending? { state.withLock { $0.ending } }

    private func reap() {
        // First only a look: until the process is collected, under the lock, nobody else can have its number.
        var information = unsafe siginfo_t()
        while unsafe waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) == -1, errno == EINTR {}
        let (ending, waiters) = state.withLock { state in
            var status: Int32 = 0
            var result: Int32
            repeat { result = unsafe waitpid(pid, &status, 0) } while result == -1 && errno == EINTR
            let ending = result == pid ? Ending(status: status) : Ending(code: -1, wasSignalled: false)
            state.ending = ending
            defer { state.waiters = [] }
            return (ending, state.waiters)
        }
        for waiter in waiters { waiter.resume(returning: ending) }
        running.leave()
    }

    func signal(_ number: Int32) {
        state.withLock { state in
            if state.ending == nil { _ = kill(pid, number) }
        }
    }

    func ended() async -> Ending {
        await withCheckedContinuation { continuation in
            let ended: Ending? = state.withLock { state in
                if state.ending == nil { state.waiters.append(continuation) }
                return state.ending
            }
            if let ended { continuation.resume(returning: ended) }
        }
    }

    func waitUntilEnded() -> Ending {
        running.wait()
        return ending ?? Ending(code: -1, wasSignalled: false)
    }
}
