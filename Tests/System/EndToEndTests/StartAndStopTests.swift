import ChildProcesses
import Coding
import Foundation
import Glibc
import HTTP
import HTTPTypes
import Sockets
import TemporaryFolders
import Testing

/// How the program starts, refuses to, and ends, as a service manager sees it.
@Suite struct StartAndStopTests {
    static let clean = ChildProcess.Ending(code: 0, wasSignalled: false)
    static let refused = ChildProcess.Ending(code: 1, wasSignalled: false)

    /// In flight: a sign-in whose exchange Apple has not answered yet.
    @Test func sigtermFinishesWhatIsInFlightAndExitsCleanly() async throws {
        try await withLoops { group in
            let place = try ServerPlace()
            let simulator = try await RunningSimulator.start(in: place.folder, keyPath: place.keyPath, on: group)
            try place.configure(apple: simulator.origin, drainTimeout: 60)
            let server = try await place.start(on: group)
            let attempt = try await server.begin(from: "10.50.0.1")
            let form = try await simulator.authorize(TestPerson("ada"), at: attempt.location)
            try await simulator.control(.put, "faults/token", ["hang": true])
            async let answer = server.callback(attempt, form.body)
            try await eventually("the exchange hangs") { try await simulator.hanging() == 1 }

            server.process.signal(SIGTERM)
            try await eventually("draining") { server.process.output.contains("draining") }
            try await eventually("no new visitor gets in") {
                let client = try WebClient(place.origin, on: group)
                return (try? await client.get("/login", timeout: 1000)) == nil
            }
            #expect(server.process.ending == nil)
            try await simulator.control(.post, "faults/reset")
            let response = try await answer
            #expect(response.status.code == 303)
            let token = try #require(response.cookie(RunningServer.sessionCookie))
            let start = ContinuousClock.now
            #expect(await server.process.waitUntilEnded(within: .seconds(90)) == Self.clean)
            #expect(ContinuousClock.now - start < .seconds(40), "it waited for the grace period to end")
            #expect(server.process.output.contains("stopped"))

            let second = try await place.start(on: group)
            #expect(try await second.verify(token).status.code == 204)
            #expect(await second.stop() == Self.clean)
        }
    }

    /// What clients may hold open when the stop comes.
    static let hanging: [(name: String, bytes: String)] = [
        ("half a request line", "GET /auth/ver"),
        ("half a head", "GET /login HTTP/1.1\r\nHost: localhost\r\n"),
        (
            "half a body",
            "POST /apple/callback HTTP/1.1\r\nHost: localhost\r\n"
                + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nstate="
        ),
    ]

    @Test func sigtermWithHangingClientsExitsCleanlyAtTheDeadline() async throws {
        let place = try ServerPlace(drainTimeout: 1)
        try await withLoops { group in
            let server = try await place.start(on: group)
            let loop = group.loops[0]
            let address = SocketAddress(ip: try #require(IPAddress(place.host)), port: 8080)
            var streams: [SocketStream] = []
            for client in Self.hanging {
                streams.append(
                    try await withTaskExecutorPreference(loop) {
                        let stream = try await SocketStream.connect(
                            to: [address], on: loop, deadline: Deadline.now.adding(milliseconds: 120_000))
                        stream.setDeadline(Deadline.now.adding(milliseconds: 120_000))
                        try await stream.write(Array(client.bytes.utf8))
                        return stream
                    })
            }
            // Once this one is answered, the bytes above have arrived too.
            _ = try await server.client.get("/auth/verify")
            let start = ContinuousClock.now
            #expect(await server.stop() == Self.clean)
            let duration = ContinuousClock.now - start
            #expect(duration < .seconds(15), "\(duration)")
            await withTaskExecutorPreference(loop) { for stream in streams { stream.close() } }
        }
    }

    /// Regression: from the first socket that listens to the moment in which signals were caught, some milliseconds, the
    /// default effect of SIGTERM ended the process, with visitors in its queues.
    @Test(arguments: [SIGTERM, SIGINT]) func stopRightAfterTheStartIsOrderly(signal: Int32) async throws {
        let place = try ServerPlace()
        try await withLoops { group in
            await (try place.start(on: group)).stop()
            let loop = group.loops[0]
            let address = SocketAddress(ip: try #require(IPAddress(place.host)), port: 8080)
            for round in 0..<6 {
                let process = try place.launch()
                await withTaskExecutorPreference(loop) {
                    while process.ending == nil {
                        let stream = try? await SocketStream.connect(
                            to: [address], on: loop, deadline: Deadline.now.adding(milliseconds: 120_000))
                        guard let stream else { continue }
                        process.signal(signal)
                        stream.close()
                        break
                    }
                }
                #expect(await process.waitUntilEnded(within: .seconds(90)) == Self.clean, "round \(round)")
            }
        }
    }

    @Test func anIdleConnectionDoesNotDelayTheStop() async throws {
        let place = try ServerPlace(drainTimeout: 60)
        try await withLoops { group in
            let server = try await place.start(on: group)
            // The client keeps the connection.
            _ = try await server.client.get("/login")
            let start = ContinuousClock.now
            server.process.signal(SIGINT)
            #expect(await server.process.waitUntilEnded(within: .seconds(90)) == Self.clean)
            #expect(ContinuousClock.now - start < .seconds(40))
        }
    }

    @Test func theLogOfWritesIsMovedIntoTheDatabaseAtTheStop() async throws {
        let place = try ServerPlace()
        try await withLoops { group in
            await (try place.start(on: group)).stop()
            let attributes = try? FileManager.default.attributesOfItem(atPath: place.databasePath + "-wal")
            #expect((attributes?[.size] as? Int ?? 0) == 0)
        }
    }

    @Test func aRestartKeepsSessionsAndOpenAttempts() async throws {
        try await withLoops { group in
            let (place, simulator) = try await ServerPlace.besideApple(on: group)
            let first = try await place.start(on: group)
            let token = try await first.signIn(TestPerson("ada"), at: simulator, from: "10.51.0.1")
            let attempt = try await first.begin(from: "10.51.0.2")
            let form = try await simulator.authorize(TestPerson("boris"), at: attempt.location)
            await first.stop()
            let second = try await place.start(on: group)
            #expect(try await second.verify(token).status.code == 204)
            #expect(try await second.callback(attempt, form.body).status.code == 303)
            await second.stop()
        }
    }

    @Test func aSecondServerOnTheSameDataDirectoryIsRefusedWithOneLine() async throws {
        let place = try ServerPlace()
        let other = try ServerPlace()
        try other.configure(apple: "http://127.0.0.1:9", dataDirectory: place.dataDirectory)
        try await withLoops { group in
            let server = try await place.start(on: group)
            let second = try other.launch()
            #expect(await second.waitUntilEnded(within: .seconds(40)) == Self.refused)
            let lines = second.output.split(separator: "\n")
            #expect(lines.count == 1 && lines[0].contains("Another bramley serve is running"), "\(lines)")
            // The first one did not notice.
            #expect(try await server.admin.get("/readyz").status.code == 200)
            await server.stop()
        }
    }

    @Test func aSecondServerOnTheSameAddressIsRefusedWithOneLine() async throws {
        let place = try ServerPlace()
        try await withLoops { group in
            let server = try await place.start(on: group)
            let second = try ChildProcess(
                place.command("serve", "--storage-directory", place.folder.path + "/other"),
                directory: place.folder.path, outputPath: place.folder.path + "/second.log")
            #expect(await second.waitUntilEnded(within: .seconds(40)) == Self.refused)
            let lines = second.output.split(separator: "\n")
            #expect(lines.count == 1 && lines[0].contains("admin.host and admin.port"), "\(lines)")
            #expect(try await server.client.get("/login").status.code == 200)
            await server.stop()
        }
    }

    /// Killed at any moment of the very first start, with nothing on the disk yet: the next start must work.
    @Test func killDuringTheFirstStartDoesNotPreventTheNext() async throws {
        try await withLoops { group in
            for milliseconds in stride(from: 2, through: 120, by: 6) {
                let place = try ServerPlace()
                let process = try place.launch()
                try await process.kill(after: .milliseconds(milliseconds))
                let server = try await place.start(on: group)
                #expect(await server.stop() == Self.clean, "killed after \(milliseconds) ms")
            }
        }
    }

    @Test func checkExitsWithZeroForAGoodConfiguration() async throws {
        let place = try ServerPlace()
        let process = try check(place)
        #expect(await process.waitUntilEnded(within: .seconds(40)) == Self.clean)
        #expect(process.output.contains("The configuration is valid."))
        // It looks, and makes nothing.
        #expect(!FileManager.default.fileExists(atPath: place.dataDirectory))
    }

    @Test func serveRefusesWhatCheckRefuses() async throws {
        let place = try ServerPlace()
        try place.folder.write("{ \"publicURL\": 1", to: "config.json", mode: 0o644)
        for process in [try check(place), try place.launch()] {
            #expect(await process.waitUntilEnded(within: .seconds(40)) == Self.refused)
            #expect(!process.output.isEmpty)
        }
        try FileManager.default.removeItem(atPath: place.configurationPath)
        let process = try check(place)
        #expect(await process.waitUntilEnded(within: .seconds(40)) == Self.refused)
        #expect(process.output.contains("config.json"))
    }

    private func check(_ place: ServerPlace) throws -> ChildProcess {
        try ChildProcess(
            place.command("check"), directory: place.folder.path,
            outputPath: place.folder.path + "/check-\(UUID().uuidString).log")
    }
}
