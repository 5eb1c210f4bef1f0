import ChildProcesses
import Coding
import Foundation
import HTTP
import HTTPTypes
import Randomness
import Sockets
import Testing

/// `kill -9` at random moments under parallel sign-ins and sign-outs. What a browser was told must still be true when
/// the server is back.
///
/// `KILL_TEST_ROUNDS` (6) and `KILL_TEST_SEED` (random, printed) come from the environment.
@Suite struct KillTests {
    private static func environment(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }

    @Test func nothingAcknowledgedIsLostWhenTheServerIsKilled() async throws {
        let rounds = Int(Self.environment("KILL_TEST_ROUNDS") ?? 6)
        let seed = Self.environment("KILL_TEST_SEED") ?? UInt64.random(in: 1...999_999)
        print("kill test: \(rounds) rounds, KILL_TEST_SEED=\(seed)")
        try await withLoops { group in
            let (place, simulator) = try await ServerPlace.besideApple(on: group)
            var random = SeededRandom(seed: seed)
            var total = KillTally()
            let start = ContinuousClock.now
            var server = try await place.start(on: group)
            for round in 1...rounds {
                let ledger = KillLedger()
                try await Self.loadUntilKilled(server, simulator, ledger, round: round, &random)
                try KillTestsDatabase.check(place.databasePath, "round \(round)")
                total.killsWhileStarting += try await Self.killWhileStarting(place, &random)
                server = try await place.start(on: group)
                try await Self.check(ledger, server, simulator, &random, &total, "round \(round), seed \(seed)")
                try await simulator.control(.post, "reset")
            }
            let ending = await server.stop()
            #expect(ending == ChildProcess.Ending(code: 0, wasSignalled: false))
            try KillTestsDatabase.check(place.databasePath, "after the last stop")
            // A test whose load never got anywhere would prove nothing.
            #expect(total.sessions >= rounds && total.signOuts >= rounds / 4)
            print("kill test: \(total); \(ContinuousClock.now - start) in all")
        }
    }

    private static let workers = 8

    private static func loadUntilKilled(
        _ server: RunningServer, _ simulator: RunningSimulator, _ ledger: KillLedger, round: Int,
        _ random: inout SeededRandom
    ) async throws {
        // Sometimes in the first moments, when everything happens for the first time; mostly when that many have
        // signed in, however fast the machine is, and then a little later. The first round is never an empty one.
        let isEarly = round > 1 && Int.random(in: 0..<4, using: &random) == 0
        let sessions = isEarly ? 0 : Int.random(in: (round > 1 ? 1 : 20)...30, using: &random)
        let delay = Duration.milliseconds(Int.random(in: 0...(sessions == 0 ? 120 : 40), using: &random))
        let seeds = (0..<workers).map { _ in random.next() }
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for (worker, seed) in seeds.enumerated() {
                tasks.addTask {
                    var worker = KillWorker(
                        server: server, simulator: simulator, ledger: ledger, name: "r\(round)w\(worker)",
                        random: SeededRandom(seed: seed))
                    try await worker.run()
                }
            }
            try await eventually("\(sessions) sign-ins") { ledger.sessions.count >= sessions }
            // The moment is the test's own choice; there is no event to wait for.
            try await Task.sleep(for: delay)
            ledger.beginKill()
            await server.process.killAndWait()
            try await tasks.waitForAll()
        }
    }

    /// In some rounds the next start is killed as well, at any moment of it.
    private static func killWhileStarting(_ place: ServerPlace, _ random: inout SeededRandom) async throws -> Int {
        guard Int.random(in: 0..<3, using: &random) == 0 else { return 0 }
        let process = try place.launch()
        try await Task.sleep(for: .milliseconds(Int.random(in: 0...120, using: &random)))
        await process.killAndWait()
        return 1
    }

    private static func check(
        _ ledger: KillLedger, _ server: RunningServer, _ simulator: RunningSimulator, _ random: inout SeededRandom,
        _ total: inout KillTally, _ comment: String
    ) async throws {
        for entry in ledger.sessions {
            let verify = try await server.verify(entry.token).status.code
            let session = try await server.session(entry.token).status.code
            #expect((verify == 204) == (session == 200), "verify and the API disagree: \(comment)")
            switch entry.end {
            case .none:
                #expect(verify == 204, "a session whose cookie arrived is gone: \(comment) \(entry.person.id)")
                if verify == 204 {
                    let name = try await server.name(of: entry.token)
                    #expect(name == [entry.person.given, entry.person.family], "\(comment)")
                }
                total.sessions += 1
            case .confirmed:
                #expect(verify == 401, "a confirmed sign-out did not stay: \(comment) \(entry.person.id)")
                total.signOuts += 1
            case .asked:
                #expect(verify == 204 || verify == 401)
                total.openSignOuts += 1
            }
        }
        for open in ledger.unanswered {
            let exchanged = try await simulator.hasRedeemed(open.person)
            total.unanswered += 1
            if exchanged { total.exchanged += 1 }
            var token: String?
            // The visitor reloads, or, when Apple has been told already, perhaps starts again.
            if !exchanged || Bool.random(using: &random) {
                let answer = try await server.callback(open.attempt, open.form.body)
                #expect(
                    answer.status.code == 303 || exchanged, "a reload failed: \(comment) \(answer.text.suffix(300))")
                token = answer.cookie(RunningServer.sessionCookie)
            }
            if token == nil {
                let attempt = try await server.begin(from: open.attempt.address)
                let form = try await simulator.authorize(open.person, at: attempt.location)
                #expect(!form.hasUser)
                token = try await server.callback(attempt, form.body).cookie(RunningServer.sessionCookie)
            }
            let session = try #require(token, "no sign-in after the restart: \(comment)")
            #expect(
                try await server.name(of: session) == [open.person.given, open.person.family],
                "a first-consent name is lost: \(comment) \(open.person.id)")
        }
    }
}

extension RunningServer {
    /// Given and family name, from the session's API.
    func name(of token: String) async throws -> [String] {
        let response = try await session(token)
        let name = try response.json["user"]?.objectValue?["name"]?.objectValue
        return [name?["given"]?.stringValue ?? "", name?["family"]?.stringValue ?? ""]
    }
}
