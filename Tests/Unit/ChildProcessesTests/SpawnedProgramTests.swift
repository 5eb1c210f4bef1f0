import ChildProcesses
import Foundation
import Glibc
import Testing

@Suite struct SpawnedProgramTests {
    /// Foundation's `Process` read past the end of a directory buffer that more than some 1,300 descriptors fill, and
    /// took the whole test run with it. In a process of its own: the descriptors are no other test's business.
    @Test func manyOpenDescriptorsDoNotEndTheTestRun() async {
        await #expect(processExitsWith: .success) {
            var limit = rlimit()
            // The exit test's macro knows only the C enumeration's number.
            try #require(unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            limit.rlim_cur = max(limit.rlim_cur, 4_096)
            try #require(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            let held = (0..<2_000).map { _ in unsafe open("/dev/null", O_RDONLY | O_CLOEXEC) }
            try #require(held.allSatisfy { $0 >= 0 })
            for round in 0..<20 {
                let finished = try FinishedProgram(running: ["sh", "-c", "echo \(round)"])
                try #require(finished.succeeded)
                try #require(finished.outputText == "\(round)\n")
            }
        }
    }

    @Test(arguments: [
        ("exit 0", 0, false), ("exit 3", 3, false), ("exit 255", 255, false), ("kill -TERM $$", SIGTERM, true),
        ("kill -KILL $$", SIGKILL, true),
    ])
    func endingIsReported(script: String, code: Int32, wasSignalled: Bool) async throws {
        let program = try SpawnedProgram(["sh", "-c", script])
        #expect(await program.ended() == Ending(code: code, wasSignalled: wasSignalled))
        #expect(program.waitUntilEnded() == program.ending)
        // Its number may be another's by now: nobody is hit.
        program.signal(SIGKILL)
    }

    @Test func aProgramThatIsNotThereIsAnError() {
        #expect(throws: SpawnFailure.self) { try SpawnedProgram(["no-such-program-here"]) }
        #expect(throws: SpawnFailure.self) { try SpawnedProgram(["/no/such/program"]) }
        #expect(throws: SpawnFailure.self) { try SpawnedProgram([]) }
        #expect(throws: SpawnFailure.self) { try SpawnedProgram(["true"], directory: "/no/such/folder") }
        #expect(throws: SpawnFailure.self) { try SpawnedProgram(["true"], environment: ["PATH": "/nowhere"]) }
    }

    @Test func onlyGivenDescriptorsAreInherited() throws {
        let descriptor = unsafe open("/dev/null", O_RDONLY)
        defer { _ = close(descriptor) }
        #expect(try FinishedProgram(running: ["sh", "-c", "ls /proc/$$/fd"]).outputText == "0\n1\n2\n")
        let signals = try FinishedProgram(running: ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"]).outputText
        // 32 and 33 are glibc's own; posix_spawn(3) leaves them ignored, and no program can be asked to change that.
        #expect(signals == "SigBlk:\t0000000000000000\nSigIgn:\t0000000180000000\n")
        let program = try SpawnedProgram(
            ["env"], environment: ["PATH": "/usr/bin:/bin", "A": "b=c"], output: .pipe)
        let lines = String(decoding: try #require(program.output).rest(), as: UTF8.self).split(separator: "\n")
        #expect(Set(lines) == ["PATH=/usr/bin:/bin", "A=b=c"])
    }

    @Test func folderFilesAndErrorsGoWhereTheyShould() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "bramley-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let log = folder + "/log"
        for word in ["first", "second"] {
            let program = try SpawnedProgram(
                ["sh", "-c", "pwd; echo \(word) >&2"], directory: folder, output: .nothing, errors: .file(log))
            #expect(program.waitUntilEnded().code == 0)
        }
        let copy = try SpawnedProgram(["sh", "-c", "cat; pwd"], directory: folder, input: .file(log), output: .pipe)
        #expect(String(decoding: try #require(copy.output).rest(), as: UTF8.self) == "first\nsecond\n\(folder)\n")
        let both = ["sh", "-c", "echo a; echo b >&2; echo c"]
        #expect(try FinishedProgram(running: both, mergesErrors: true).outputText == "a\nb\nc\n")
        #expect(try FinishedProgram(running: both).errorText == "b\n")
    }

    /// More than a pipe holds, both ways.
    @Test func muchInputAndOutputIsWhole() throws {
        let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        #expect(try FinishedProgram(running: ["cat"], input: bytes).output == bytes)
    }

    @Test func pipesWorkBothWays() throws {
        let program = try SpawnedProgram(["cat"], input: .pipe, output: .pipe)
        let (input, output) = (try #require(program.input), try #require(program.output))
        for word in ["one", "two"] {
            try input.write(Array(word.utf8))
            #expect(output.next() == Array(word.utf8))
        }
        input.close()
        #expect(output.next() == [])
        #expect(program.waitUntilEnded().code == 0)
        #expect(throws: SpawnFailure.self) { try input.write([1]) }
    }

    /// Neither SIGPIPE nor silence.
    @Test func writingToAProgramThatIsGoneIsAnError() async throws {
        let program = try SpawnedProgram(["true"], input: .pipe)
        _ = await program.ended()
        #expect(throws: SpawnFailure.self) { try #require(program.input).write([1]) }
    }
}
