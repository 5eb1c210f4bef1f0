import ChildProcesses
import Foundation
import Glibc

/// A program of this package as a process of its own: the only way to kill it, limit it, or see its exit code.
final class ChildProcess: Sendable {
    typealias Ending = ChildProcesses.Ending

    struct DidNotEnd: Error, CustomStringConvertible {
        var description: String
    }

    /// What the process wrote to standard output and standard error, in one file.
    let outputPath: String
    private let program: SpawnedProgram

    /// The kernel that these tests run on (Tests/Load/Faults) is that of the programs they start.
    private static let faults: Set<String> = ["LD_PRELOAD", "FAULTS", "FAULTS_REPORT"]

    /// - Parameters:
    ///   - command: the program and its arguments; without a slash it is looked up in `PATH`.
    ///   - outputPath: made or continued.
    init(_ command: [String], environment: [String: String] = [:], directory: String, outputPath: String) throws {
        // Nothing else of the machine's environment: a BRAMLEY_… of the person who tests must not matter.
        let shared = ProcessInfo.processInfo.environment.filter { Self.faults.contains($0.key) }
        program = try SpawnedProgram(
            command,
            environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "SWIFT_BACKTRACE": "enable=no"]
                .merging(shared) { $1 }.merging(environment) { $1 },
            directory: directory, output: .file(outputPath), errors: .sameAsOutput)
        self.outputPath = outputPath
    }

    deinit { signal(SIGKILL) }

    var pid: Int32 { program.pid }
    var startedAt: ContinuousClock.Instant { program.startedAt }
    var ending: Ending? { program.ending }

    /// All it has written so far.
    var output: String {
        textOfFile(outputPath)
    }

    func signal(_ number: Int32) { program.signal(number) }

    func waitUntilEnded() async -> Ending { await program.ended() }

    /// Waits until it has ended by itself; after that time it is killed, which is then how it ended.
    func waitUntilEnded(within limit: Duration) async -> Ending {
        try? await eventually(within: limit, "it ends") { ending != nil }
        signal(SIGKILL)
        return await waitUntilEnded()
    }

    /// `kill -9` that much later, which no patience prolongs, and waits until it is gone.
    func kill(after delay: Duration) async throws {
        try await Task.sleep(for: delay)
        await killAndWait()
    }

    /// `kill -9`, and waits until it is gone.
    func killAndWait() async {
        signal(SIGKILL)
        _ = await waitUntilEnded()
    }

    /// Resident and anonymous memory in KiB, from `/proc`.
    func memory() throws -> (resident: Int, anonymous: Int) {
        let text = String(
            decoding: FileManager.default.contents(atPath: "/proc/\(pid)/status") ?? Data(), as: UTF8.self)
        func field(_ name: String) -> Int {
            for line in text.split(separator: "\n") where line.hasPrefix(name + ":") {
                return line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int($0) }
                    ?? 0
            }
            return 0
        }
        return (field("VmRSS"), field("RssAnon"))
    }
}

/// Where the programs of this build are: beside the test runner.
enum Programs {
    static func path(_ name: String) throws -> String {
        let runner = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        var directory = URL(filePath: runner).deletingLastPathComponent()
        for _ in 0..<4 {
            let path = directory.appending(path: name).path
            if FileManager.default.isExecutableFile(atPath: path) { return path }
            directory = directory.deletingLastPathComponent()
        }
        if let bin = ProcessInfo.processInfo.environment["TEST_BIN"] { return bin + "/" + name }
        throw ChildProcess.DidNotEnd(description: "\(name) is not beside \(runner)")
    }
}

/// How many times longer than usual the tests wait before they give up: a server that a sanitizer slows down needs ten
/// times as long for its start alone. `TEST_PATIENCE` in the environment; scripts/sanitize.sh sets it.
let patience = ProcessInfo.processInfo.environment["TEST_PATIENCE"].flatMap { Int($0) } ?? 1

/// Whether the programs are built with a sanitizer, whose allocator keeps what was freed for a while: then how much memory
/// they have says nothing of them. `TEST_SANITIZER` in the environment; scripts/sanitize.sh sets it.
let isSanitized = ProcessInfo.processInfo.environment["TEST_SANITIZER"] != nil

/// Waits for something that cannot wake us: another process's socket, file or counter. Looks every few milliseconds, and
/// less often the longer it takes: on a slow machine it would else take its time from what it waits for.
/// - Parameter limit: before `patience`.
func eventually(
    within limit: Duration = .seconds(60), _ what: String, _ isSo: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + limit * patience
    var pause = Duration.milliseconds(2)
    while try await !isSo() {
        guard ContinuousClock.now < end else {
            throw ChildProcess.DidNotEnd(description: "not within \(limit * patience): \(what)")
        }
        try await Task.sleep(for: pause)
        pause = min(pause * 5 / 4, .milliseconds(50))
    }
}

/// What a file says; nothing if there is none. Other ways to read it leak four KiB with every file that is empty.
func textOfFile(_ path: String) -> String {
    String(decoding: (try? FileHandle(forReadingAtPath: path)?.readToEnd()) ?? Data(), as: UTF8.self)
}
