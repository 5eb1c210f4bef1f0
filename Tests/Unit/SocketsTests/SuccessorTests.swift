import Glibc
import Loops
import Testing

@testable import Sockets

@Suite struct SuccessorTests {
    private static func start(_ script: String) throws -> Successor {
        try Successor(
            path: "/bin/sh", arguments: ["sh", "-c", script], environment: ["PATH": "/usr/bin:/bin"], descriptors: [],
            connectionName: "predecessor")
    }

    private static func isThere(_ process: Int32) -> Bool { kill(process, 0) == 0 }

    /// It would hold the listening sockets and the lock, and leave a zombie behind when it ends at last.
    @Test(arguments: ["exec sleep 1000", "trap '' TERM; echo >&3; while :; do sleep 1; done", "exit 3"])
    func abandonedSuccessorIsEndedAndReaped(script: String) async throws {
        let process = try await onLoop { loop, _ in
            let successor = try Self.start(script)
            // Its trap is set when it has said so; the others say nothing.
            while script.contains("echo"), successor.connection.listen() == false {
                _ = await loop.sleep(until: Deadline.now.adding(milliseconds: 1))
            }
            await successor.abandon(on: loop, grace: 50)
            return successor.process
        }
        #expect(!Self.isThere(process), "it is there, or a zombie")
    }

    /// The server ends too: there is no loop left to wait with.
    @Test func abandonedSuccessorIsKilledWhileTheServerStops() async throws {
        let successor = try Self.start("trap '' TERM; echo >&3; while :; do sleep 1; done")
        try await onLoop { loop, group in
            while successor.connection.listen() == false {
                _ = await loop.sleep(until: Deadline.now.adding(milliseconds: 1))
            }
            group.beginDrain()
            await successor.abandon(on: loop, grace: 60_000)
        }
        let limit = Deadline.now.adding(milliseconds: 50_000)
        var ending = successor.ending()
        while ending == nil, Deadline.now < limit {
            await Task.yield()
            ending = successor.ending()
        }
        #expect(ending == "signal 9")
    }
}
