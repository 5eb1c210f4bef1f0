import ChildProcesses
import Coding
import Foundation
import TemporaryFolders
import Testing

@Suite struct CommandStreamTests {
    /// Every command that prints without asking the database, and one that asks.
    private static func commands(_ place: ServerPlace) -> [[String]] {
        let folder = place.folder.path
        return [
            ["check"], ["check", "--schema"], ["check", "--reference"], ["explain"], ["explain", "stale_state"],
            ["users", "list"], ["users", "list", "--all", "--json"],
            ["pages", "export", folder + "/pages", "--force"],
            [
                "init", "--non-interactive", "--force", "--output", folder + "/new.json", "--public-url",
                ServerPlace.publicURL, "--services-id", ServerPlace.servicesID, "--team-id", ServerPlace.teamID,
                "--key-id", ServerPlace.keyID, "--private-key-file", place.keyPath, "--sign-up", "open", "--scopes",
                "name,email",
            ],
            ["jws", "verify", "--jwk", folder + "/config.json", "--algorithm", "ES256"],
        ]
    }

    /// Runs a command below a piece of bash, which has it as `"$@"` and a path that is free as `$0`.
    /// - Returns: its exit code and what it said beside standard output.
    private func run(_ command: [String], _ place: ServerPlace, below script: String) async throws -> (Int32, String) {
        let path = place.folder.path + "/" + UUID().uuidString
        let hasFile = ["check", "users"].contains(command[0])
        let process = try ChildProcess(
            ["/bin/bash", "-c", script, path, try Programs.path("bramley")] + command
                + (hasFile ? ["--config", place.configurationPath] : []),
            directory: place.folder.path, outputPath: path + ".log")
        let ending = await process.waitUntilEnded()
        return (ending.wasSignalled ? -ending.code : ending.code, process.output)
    }

    @Test func failedWriteToStandardOutputFailsTheCommand() async throws {
        try await CommandOutputTests.withPeople { place, _ in
            for command in Self.commands(place) {
                let (code, errors) = try await run(command, place, below: "exec \"$@\" </dev/null >/dev/full")
                #expect(code == 1, "\(command)")
                #expect(errors.contains("The output cannot be written"), "\(command): \(errors)")
            }
        }
    }

    /// As with `… | head`, the reader gone for certain before the first byte.
    @Test func closedPipeEndsTheCommandWithoutAnError() async throws {
        let script = """
            set -o pipefail
            { until [ -e "$0" ]; do sleep 0.01; done; exec "$@" </dev/null; } | { exec <&-; : >"$0"; }
            """
        try await CommandOutputTests.withPeople { place, _ in
            for command in Self.commands(place) {
                let (code, errors) = try await run(command, place, below: script)
                // A signature that is none stays one.
                #expect(code == (command[0] == "jws" ? 1 : 0), "\(command): \(errors)")
                #expect(errors == "", "\(command)")
            }
        }
    }

    @Test func truncatedListSaysSo() async throws {
        try await CommandImportTests.withDatabase { place in
            let people = ["a", "b", "c"].map { "{\"appleSubject\":\"\($0)\",\"email\":\"x@example.com\"}\n" }.joined()
            #expect(try await place.run("users import -", input: people).code == 0)
            for (limit, isCut) in [(1, true), (2, true), (3, false), (10_000, false)] {
                for json in ["", " --json"] {
                    let list = try await place.run("users list --email X@example.com --limit \(limit)\(json)")
                    #expect(list.code == 0)
                    #expect(list.errors.contains("There are more") == isCut, "\(limit): \(list.errors)")
                    let count = try json.isEmpty ? list.lines.count : list.items.count
                    #expect(count == min(limit, 3))
                }
            }
            for command in ["users list --state pending", "users list --all --state pending"] {
                #expect(try await place.run(command, onTerminal: true).output.contains("No users match."), "\(command)")
                #expect(try await place.run(command).errors == "", "\(command)")
            }
        }
    }

    /// The file opens, and its first byte cannot be read.
    @Test func aReportIsPrintedWhereTheInputEndsInAnError() async throws {
        try await CommandImportTests.withDatabase { place in
            let result = try await place.run("users import /proc/self/mem")
            #expect(result.code == 1)
            #expect(result.errors.contains("The input cannot be read"), "\(result.errors)")
            #expect(result.errors.contains("0 lines"), "\(result.errors)")
        }
    }

    /// Each reads, computes and writes in one transaction.
    @Test func concurrentGroupChangesAreAllKept() async throws {
        try await CommandOutputTests.withPeople { place, ids in
            try await withThrowingTaskGroup(of: CommandResult.self) { group in
                for number in 0..<8 {
                    group.addTask { try await place.run("users groups \(ids[0]) --add g\(number)") }
                }
                for try await result in group { #expect(result.code == 0, "\(result.errors)") }
            }
            let groups = try await place.run("users groups \(ids[0])").lines
            #expect(groups.sorted() == (0..<8).map { "g\($0)" })
            let many = (0..<60).map { "m\($0)" }.joined(separator: ",")
            #expect(try await place.run("users groups \(ids[0]) --add \(many)").errors.contains("at most 64"))
            #expect(try await place.run("users groups \(ids[0])").lines == groups)
        }
    }
}
