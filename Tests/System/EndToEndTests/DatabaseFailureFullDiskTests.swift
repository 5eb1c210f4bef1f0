import ChildProcesses
import Foundation
import Glibc
import HTTP
import HTTPTypes
import TemporaryFolders
import Testing

/// The disk fills up while people sign in and out: 503 pages, no crash, nothing that was acknowledged lost, and all is
/// well again when there is space, without a restart.
@Suite struct DatabaseFailureFullDiskTests {
    /// A file system of three megabytes. Needs the right to mount.
    @Test(.enabled(if: DatabaseFailureFullDiskTests.mayMount, "needs the right to mount a tmpfs"))
    func aFullDiskIsA503AndLosesNothingThatWasAcknowledged() async throws {
        let place = try ServerPlace()
        let mounted = place.dataDirectory
        try FileManager.default.createDirectory(
            atPath: mounted, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        try #expect(Self.run(["mount", "-t", "tmpfs", "-o", "size=3m,mode=700", "tmpfs", mounted]) == 0)
        defer { _ = try? Self.run(["umount", "-l", mounted]) }
        try await fillAndRecover(place) { _ in
            try #expect(Self.run(["mount", "-o", "remount,size=64m", mounted]) == 0)
        }
    }

    /// A limit on the size of files: another error of the same kind (EFBIG), which needs no rights. The signal that
    /// comes with it must not end the server.
    @Test func aFileSizeLimitIsA503AndLosesNothingThatWasAcknowledged() async throws {
        let place = try ServerPlace()
        // Three megabytes, soft, so that it can be lifted again.
        let prefix = ["env", "--default-signal=XFSZ", "sh", "-c", "ulimit -S -f 6000; exec \"$@\"", "sh"]
        try await fillAndRecover(place, prefix: prefix) { server in
            try #expect(Self.run(["prlimit", "--pid", "\(server.process.pid)", "--fsize=unlimited:unlimited"]) == 0)
        }
    }

    private func fillAndRecover(
        _ place: ServerPlace, prefix: [String] = [], giveSpace: (RunningServer) throws -> Void
    ) async throws {
        try await withLoops { group in
            let simulator = try await RunningSimulator.start(in: place.folder, keyPath: place.keyPath, on: group)
            try place.configure(apple: simulator.origin)
            let server = try await place.start(on: group, prefix: prefix)
            let ledger = KillLedger()
            try await Self.fill(server, simulator, ledger)

            #expect(server.process.ending == nil, "the server ended")
            #expect(try await server.admin.get("/healthz").status.code == 200)
            // Reads continue, and say what was acknowledged.
            try await Self.check(ledger, server, "while the disk is full")

            try giveSpace(server)
            let person = try await simulator.add("after")
            let token = try await server.signIn(person, at: simulator, from: "10.40.200.1")
            #expect(try await server.admin.get("/readyz").status.code == 200)
            try await Self.check(ledger, server, "with space again")
            await server.process.killAndWait()
            try KillTestsDatabase.check(place.databasePath, "after a full disk")

            let second = try await place.start(on: group)
            try await Self.check(ledger, second, "after a restart")
            #expect(try await second.name(of: token) == [person.given, person.family])
            #expect(await second.stop() == ChildProcess.Ending(code: 0, wasSignalled: false))
        }
    }

    /// Signs in and out from four browsers at once until each has been refused three times.
    private static func fill(_ server: RunningServer, _ simulator: RunningSimulator, _ ledger: KillLedger) async throws
    {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for worker in 0..<4 {
                tasks.addTask {
                    var refusals = 0
                    for count in 0..<2000 where refusals < 3 {
                        let person = try await simulator.add("full\(worker)n\(count)")
                        let attempt = try await server.begin(from: "10.40.\(worker).\(count % 256)")
                        let form = try await simulator.authorize(person, at: attempt.location)
                        let answer = try await server.callback(attempt, form.body)
                        guard answer.status.code == 303, let token = answer.cookie(RunningServer.sessionCookie) else {
                            #expect(answer.status.code == 503)
                            #expect(answer.fields[.contentType]?.hasPrefix("text/html") == true)
                            // At most the name, sealed, which could not be made safe here.
                            #expect(answer.fields[.setCookie]?.hasPrefix("__Host-bramley-name=") != false)
                            refusals += 1
                            continue
                        }
                        ledger.signedIn(person, token)
                        guard count % 3 == 0 else { continue }
                        ledger.setEnd(.asked, of: token)
                        let out = try await server.signOut(token)
                        if out.status.code == 303 { ledger.setEnd(.confirmed, of: token) }
                    }
                    #expect(refusals == 3, "the disk never filled")
                }
            }
            try await tasks.waitForAll()
        }
    }

    private static func check(_ ledger: KillLedger, _ server: RunningServer, _ comment: String) async throws {
        for entry in ledger.sessions {
            let status = try await server.verify(entry.token).status.code
            switch entry.end {
            case .none: #expect(status == 204, "\(comment): a session is gone")
            case .confirmed: #expect(status == 401, "\(comment): a sign-out did not stay")
            case .asked: #expect(status == 204 || status == 401, "\(comment)")
            }
        }
    }

    private static func run(_ command: [String]) throws -> Int32 {
        try FinishedProgram(running: command).ending.code
    }

    /// Whether this process may mount: tried, since being root is not enough in a container.
    static let mayMount: Bool = {
        guard getuid() == 0, let folder = try? TemporaryFolder(mode: 0o755),
            (try? run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder.path])) == 0
        else { return false }
        return (try? run(["umount", folder.path])) == 0
    }()
}
