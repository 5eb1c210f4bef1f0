import AppleSimulator
import ChildProcesses
import Foundation
import Glibc
import Sockets
import Testing

/// Requirement 46 in a process of its own, since it takes the descriptors away.
@Suite struct ProcessWithoutDescriptors {
    @Test func exhaustedDescriptorsNeitherSpinNorEndTheServer() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "bramley-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await blocking {
            let server = try ServerProcess(directory: directory, descriptors: 64)
            defer { server.kill() }
            try server.waitUntilListening()
            let request = "GET /auth/verify HTTP/1.1\r\nHost: localhost\r\n\r\n"
            var held: [WireConnection] = []
            var answered = 0
            for _ in 0..<120 {
                guard let connection = try? WireConnection(port: server.port, timeout: 2) else { continue }
                connection.send(request)
                if (try? connection.response().status) == 401 { answered += 1 }
                held.append(connection)
                // The rest are turned away, one each pause: enough of them.
                if held.count - answered >= 5 { break }
            }
            #expect(answered >= 10)
            #expect(answered < 64)
            // Those who came in are served all along.
            #expect(held[0].send(request))
            #expect(try held[0].response().status == 401)
            // No spinning while nothing can be accepted: this wait costs no CPU time.
            let waiting = try WireConnection(port: server.port, timeout: 1)
            let before = try server.cpuTicks()
            _ = try? waiting.receive()
            _ = try? WireConnection(port: server.port, timeout: 1).receive()
            #expect(try server.cpuTicks() - before < 20)
            // Room again, and it is used.
            held.removeAll()
            var status: Int?
            for _ in 0..<20 where status != 401 {
                let connection = try WireConnection(port: server.port, timeout: 2)
                connection.send(request)
                status = try? connection.response().status
            }
            #expect(status == 401)
            #expect(try server.stop() == 0)
        }
    }
}

/// `bramley serve` as an operator runs it.
final class ServerProcess {
    let port: UInt16
    private let program: SpawnedProgram

    /// - Parameter descriptors: `ulimit -n`.
    init(directory: String, descriptors: Int) throws {
        let admin = try Self.freePort()
        port = try Self.freePort()
        let configuration: JSON = [
            "publicURL": .string("http://localhost:\(port)"), "access": ["signUp": "open"],
            "server": ["port": .integer(Int64(port)), "threads": 1, "drainTimeout": 2],
            "admin": ["port": .integer(Int64(admin))],
            "apple": [
                "servicesID": .string(Apple.servicesID), "teamID": .string(Apple.teamID), "keyID": .string(Apple.keyID),
                "privateKeyFile": .string(directory + "/AuthKey.p8"), "scopes": [], "endpoint": "http://127.0.0.1:1",
            ],
            "storage": ["directory": .string(directory + "/data")],
        ]
        for (name, bytes) in [("AuthKey.p8", Array(Apple.privateKeyPEM.utf8)), ("config.json", configuration.bytes)] {
            guard
                FileManager.default.createFile(
                    atPath: directory + "/" + name, contents: Data(bytes), attributes: [.posixPermissions: 0o600])
            else { throw SiteError("\(name) cannot be written") }
        }
        let binary = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let path = URL(fileURLWithPath: binary).deletingLastPathComponent().appending(path: "bramley").path
        program = try SpawnedProgram([
            "/bin/bash", "-c", "ulimit -n \(descriptors) && exec \"$0\" serve --config \"$1\" 2>\"$2\"", path,
            directory + "/config.json", directory + "/log",
        ])
    }

    /// A port that nobody listens on at this moment.
    private static func freePort() throws -> UInt16 { try Site.bind().address.port }

    func waitUntilListening() throws {
        for _ in 0..<400 {
            if (try? WireConnection(port: port)) != nil { return }
            if let ending = program.ending { throw SiteError("bramley serve ended: \(ending)") }
            usleep(25_000)
        }
        throw SiteError("bramley serve does not listen")
    }

    /// User and system time, in hundredths of a second (proc(5)).
    func cpuTicks() throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(program.pid)/stat", encoding: .utf8)
        let fields = text.components(separatedBy: ") ").last?.split(separator: " ").map(String.init) ?? []
        guard fields.count > 12, let user = Int(fields[11]), let system = Int(fields[12]) else { throw SiteError(text) }
        return user + system
    }

    func stop() throws -> Int32 {
        program.signal(SIGTERM)
        return program.waitUntilEnded().code
    }

    func kill() { program.signal(SIGKILL) }
}
