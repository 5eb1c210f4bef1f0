import ChildProcesses
import Coding
import Crypto
import Foundation
import HTTP
import HTTPTypes
import Randomness
import Strangers
import TemporaryFolders
import Testing

@testable import Accounts

/// `bramley credentials reseal` beside a running server, killed with `kill -9` and run again.
///
/// `RESEAL_KILL_ROUNDS` (3) and `KILL_TEST_SEED` (random, printed) come from the environment.
@Suite struct ResealKillTests {
    private static let people = 1_000

    private static func key(_ number: Int) -> String { String(repeating: "0\(number)", count: 32) }

    private static func ring(_ number: Int) throws -> SealingKeyring {
        let bytes = try #require(Hexadecimal.decode(key(number)))
        return SealingKeyring(current: SealingKey(material: SecretBytes(bytes)))
    }

    /// People with a token each, sealed by the first key. Beside no server, which would ask about those whose check is
    /// due before that is put off.
    private static func fill(_ place: ServerPlace) async throws {
        let lines = (1...people).map { number in
            #"{"appleSubject":"001.\#(number)","clientID":"\#(ServerPlace.servicesID)","refreshToken":"r.\#(number)"}"#
        }
        let imported = try await place.run("users import -", input: lines.joined(separator: "\n"))
        #expect(imported.code == 0, "\(imported.errors)")
        // None is due for its daily check within the test: the simulator knows none of these tokens, and a dead one is
        // deleted.
        try KillTestsDatabase.open(place.databasePath) { connection in
            try connection.execute(
                "UPDATE apple_credential SET next_check_at = unixepoch() * 1000 + 82800000")
        }
    }

    private static func use(_ place: ServerPlace, key number: Int) throws {
        for number in 1...number { try place.folder.write(key(number) + "\n", to: "\(number).key") }
        try ResealTests.useKeys(place, "\(number).key", previous: (1..<number).reversed().map { "\($0).key" })
    }

    /// How many tokens this key sealed.
    private static func count(_ place: ServerPlace, by ring: SealingKeyring) throws -> Int {
        try KillTestsDatabase.open(place.databasePath) { connection in
            try connection.integer(
                "SELECT count(*) FROM apple_credential WHERE hex(substr(sealed_refresh_token, 2, 4)) = ?",
                [ring.currentKeyID.uppercased()]) ?? 0
        }
    }

    /// Every token opens with this one key, each as what it was; and SQLite finds nothing wrong.
    private static func expectAll(_ place: ServerPlace, under ring: SealingKeyring, _ comment: String) throws {
        let rows = try KillTestsDatabase.open(place.databasePath) { connection in
            #expect(try connection.texts("PRAGMA integrity_check") == ["ok"], "\(comment)")
            #expect(try connection.rows("PRAGMA foreign_key_check").isEmpty, "\(comment)")
            return try connection.rows(
                """
                SELECT i.subject, c.sealed_refresh_token FROM apple_credential c
                JOIN apple_identity i ON i.id = c.identity
                """)
        }
        #expect(rows.count >= people, "\(comment)")
        for row in rows {
            let subject = try #require(row[0].text)
            let context = RefreshToken.sealingContext(
                team: TeamID(ServerPlace.teamID), subject: AppleSubject(subject),
                clientID: ClientID(ServerPlace.servicesID))
            let text = try ring.open(#require(row[1].blob), purpose: .refreshToken, context: context)
            // Those of sign-ins are Apple's own.
            if subject.hasPrefix("001."), subject.utf8.count < 10 {
                #expect(String(decoding: text, as: UTF8.self) == "r." + subject.dropFirst(4), "\(comment)")
            }
        }
    }

    private static func launch(_ place: ServerPlace) throws -> ChildProcess {
        try ChildProcess(
            try place.command("credentials", "reseal"), directory: place.folder.path,
            outputPath: place.folder.path + "/reseal.log")
    }

    /// The kill comes inside a batch, on every machine: one row of it never ends.
    @Test func killDuringABatchLosesNothing() async throws {
        try await withLoops { group in
            let (place, simulator) = try await ServerPlace.besideApple(on: group)
            try Self.use(place, key: 1)
            let first = try await place.start(on: group)
            var tokens = try await first.signIn(2, "before", at: simulator, from: "10.82.0")
            #expect(await first.stop() == StartAndStopTests.clean)
            try await Self.fill(place)
            try Self.use(place, key: 2)
            let server = try await place.start(on: group)
            let new = try Self.ring(2)

            try KillTestsDatabase.hang(
                place.databasePath,
                before: """
                    UPDATE OF sealed_refresh_token ON apple_credential
                    WHEN OLD.identity = (SELECT id FROM apple_identity ORDER BY id LIMIT 1 OFFSET 500)
                    """)
            let reseal = try Self.launch(place)
            try await eventually(within: .seconds(60), "two batches are done, and the third has begun") {
                guard reseal.ending == nil else { throw SiteError("reseal ended: \(reseal.output)") }
                guard try Self.count(place, by: new) == 2 * ResealReport.batch else { return false }
                return try Self.isLocked(place)
            }
            await reseal.killAndWait()
            #expect(try Self.count(place, by: new) == 2 * ResealReport.batch, "nothing of the batch that was cut")
            try KillTestsDatabase.open(place.databasePath) { connection in
                try connection.execute("DROP TRIGGER stuck; DROP VIEW forever")
            }

            async let late = server.signIn(6, "late", at: simulator, from: "10.82.0")
            let rest = try await place.run("credentials reseal --json")
            tokens += try await late
            #expect(rest.code == 0, "\(rest.errors)")
            let report = try rest.json
            #expect(report["tokens"]?.int64Value == Int64(Self.people + 2 - 2 * ResealReport.batch))
            #expect(report["unreadable"]?.arrayValue?.isEmpty == true)
            for token in tokens { #expect(try await server.verify(token).status.code == 204) }
            try Self.expectAll(place, under: new, "beside the server")
            #expect(await server.stop() == StartAndStopTests.clean)
            try KillTestsDatabase.check(place.databasePath, "after the stop")
        }
    }

    /// Kills at random moments of it, while people sign in, and the server is killed as well: over and over.
    @Test func killedAgainAndAgainUnderTrafficLosesNothing() async throws {
        let environment = ProcessInfo.processInfo.environment
        let rounds = environment["RESEAL_KILL_ROUNDS"].flatMap { Int($0) } ?? 3
        let seed = environment["KILL_TEST_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 1...999_999)
        print("reseal kill test: \(rounds) rounds, KILL_TEST_SEED=\(seed)")
        try await withLoops { group in
            let (place, simulator) = try await ServerPlace.besideApple(on: group)
            try Self.use(place, key: 1)
            let first = try await place.start(on: group)
            #expect(await first.stop() == StartAndStopTests.clean)
            try await Self.fill(place)
            var random = SeededRandom(seed: seed)
            var tokens: [String] = []
            for round in 1...rounds {
                let comment = "round \(round), seed \(seed)"
                try Self.use(place, key: round + 1)
                let before = try await place.start(on: group)
                var server = before
                async let signedIn = before.signIn(8, "r\(round)", at: simulator, from: "10.82.0")
                for _ in 0..<4 {
                    let reseal = try Self.launch(place)
                    // The moment is the test's own choice; there is no event to wait for.
                    try await Task.sleep(for: .milliseconds(Int.random(in: 0...400, using: &random)))
                    await reseal.killAndWait()
                }
                tokens += try await signedIn
                let killsServer = Bool.random(using: &random)
                async let done = place.run("credentials reseal --json")
                if killsServer {
                    await server.process.killAndWait()
                    let result = try await done
                    #expect(result.code == 0, "\(comment): \(result.errors)")
                    try KillTestsDatabase.check(place.databasePath, comment)
                    server = try await place.start(on: group)
                } else {
                    let result = try await done
                    #expect(result.code == 0, "\(comment): \(result.errors)")
                }
                try Self.expectAll(place, under: Self.ring(round + 1), comment)
                for token in tokens { #expect(try await server.verify(token).status.code == 204, "\(comment)") }
                #expect(!server.process.output.contains("malformed"), "\(comment)")
                #expect(await server.stop() == StartAndStopTests.clean)
                try KillTestsDatabase.check(place.databasePath, comment)
            }
        }
    }

    /// Whether another process holds the write lock.
    static func isLocked(_ place: ServerPlace) throws -> Bool {
        let stranger = try Stranger(place.databasePath)
        do {
            try stranger.execute("BEGIN IMMEDIATE; ROLLBACK")
            return false
        } catch let error as StrangerError where error.isBusy {
            return true
        }
    }
}
