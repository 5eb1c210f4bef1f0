import ChildProcesses
import Coding
import Foundation
import Glibc
import HTTP
import HTTPTypes
import Sockets
import TemporaryFolders
import Testing

/// What commands change while a server runs, as the proxy in front of an application sees it.
@Suite struct CommandEffectTests {
    struct Bed {
        let place: ServerPlace
        let server: RunningServer
        let simulator: RunningSimulator

        func signIn(_ name: String) async throws -> String {
            let person = try await simulator.add(name)
            return try await server.signIn(person, at: simulator, from: "10.60.0.\(name.utf8.count)")
        }

        /// The ID of this session's user.
        func user(_ token: String) async throws -> String {
            let user = try await server.session(token).json["user"]?.objectValue
            return try #require(user?["id"]?.stringValue)
        }

        /// Runs a command and measures from its end until `/auth/verify` answers as it should. That it is a second at
        /// most is held by injected time (`ForeignChangesTests`); here it is measured and printed.
        func effect(
            of command: String, _ what: String, _ isSeen: () async throws -> Bool
        ) async throws -> Duration {
            let result = try await place.run(command)
            let ended = ContinuousClock.now
            #expect(result.code == 0, "\(command): \(result.errors)")
            try await eventually(within: .seconds(60), what, isSeen)
            return ContinuousClock.now - ended
        }
    }

    static func withBed(_ body: (Bed) async throws -> Void) async throws {
        try await withLoops { group in
            let (place, simulator) = try await ServerPlace.besideApple(on: group)
            let server = try await place.start(on: group)
            try await body(Bed(place: place, server: server, simulator: simulator))
            #expect(await server.stop() == StartAndStopTests.clean)
        }
    }

    /// The cache is warm each time: the token was verified just before.
    @Test func everyRevocationIsRefused() async throws {
        try await Self.withBed { bed in
            let cases: [(name: String, command: (_ user: String, _ session: String) -> String)] = [
                ("one session", { _, session in "sessions revoke \(session)" }),
                ("one person's", { user, _ in "sessions revoke --user \(user)" }),
                ("disabled", { user, _ in "users disable \(user)" }),
                ("deleted", { user, _ in "users delete \(user) --yes" }),
                ("everybody's", { _, _ in "sessions revoke --all --yes" }),
            ]
            for (number, entry) in cases.enumerated() {
                let token = try await bed.signIn("p" + String(repeating: "x", count: number))
                let user = try await bed.user(token)
                let listed = try await bed.place.run("sessions list --json --user \(user)")
                let session = try #require(try listed.items.first?["id"]?.stringValue)
                #expect(try await bed.server.verify(token).status.code == 204)
                let duration = try await bed.effect(of: entry.command(user, session), entry.name) {
                    try await bed.server.verify(token).status.code == 401
                }
                print("measured: \(entry.name) refused \(duration) after the command ended")
                let ends = try await bed.place.run("events tail --json --type session.ended --user \(user)")
                let cause = try JSONReader.parse(Array(try #require(ends.lines.last).utf8)).objectValue?["data"]
                let expected = ["disabled": "user_disabled", "deleted": "account_deleted"][entry.name]
                #expect(cause?.objectValue?["cause"]?.stringValue == expected ?? "revoked_by_operator")
            }
        }
    }

    @Test func groupsAndStatesArrive() async throws {
        try await Self.withBed { bed in
            let token = try await bed.signIn("ada")
            let user = try await bed.user(token)
            let field = try #require(HTTPField.Name("X-Auth-Request-Groups"))
            for (command, groups) in [
                ("--set staff,ops", "staff,ops"), ("--add x --remove ops", "staff,x"), ("--remove staff,x", ""),
            ] {
                _ = try await bed.effect(of: "users groups \(user) \(command)", "groups \(groups)") {
                    try await bed.server.verify(token).fields[field] == groups
                }
            }
            // Disabled: no sign-in; enabled: a new one.
            let person = TestPerson("ada")
            _ = try await bed.place.run("users disable \(user)")
            await #expect(throws: (any Error).self) {
                _ = try await bed.server.signIn(person, at: bed.simulator, from: "10.60.1.1")
            }
            let enabled = try await bed.place.run("users enable \(user) --json")
            #expect(try enabled.json["state"]?.stringValue == "active")
            let again = try await bed.server.signIn(person, at: bed.simulator, from: "10.60.1.2")
            #expect(try await bed.user(again) == user)
        }
    }

    @Test func eventsAreFollowedUntilInterrupted() async throws {
        try await Self.withBed { bed in
            let token = try await bed.signIn("ada")
            let user = try await bed.user(token)
            let follower = try ChildProcess(
                bed.place.command("events", "tail", "-f", "--json"), directory: bed.place.folder.path,
                outputPath: bed.place.folder.path + "/follow")
            try await eventually("what there was is shown") { follower.output.contains("session.created") }
            _ = try await bed.place.run("users groups \(user) --set a")
            try await eventually("what is new is shown") { follower.output.contains("user.updated") }
            for line in follower.output.split(separator: "\n") {
                let event = try #require(try JSONReader.parse(Array(line.utf8)).objectValue)
                #expect(event.names == ["id", "type", "time", "data"])
            }
            follower.signal(SIGINT)
            #expect(await follower.waitUntilEnded(within: .seconds(60)) == StartAndStopTests.clean)

            // A reader that has enough: noticed though nothing happens.
            let bramley = try bed.place.command("events", "tail", "-f").map { "'\($0)'" }.joined(separator: " ")
            let pipe = try ChildProcess(
                ["/bin/sh", "-c", "\(bramley) | head -n 1"], directory: bed.place.folder.path,
                outputPath: bed.place.folder.path + "/pipe")
            #expect(await pipe.waitUntilEnded(within: .seconds(60)) == StartAndStopTests.clean)
            #expect(pipe.output.split(separator: "\n").count == 1)
            #expect(!pipe.output.contains("error"))

            let first = try #require(try await bed.place.run("events tail --json -n 3").lines.first)
            let id = try #require(try JSONReader.parse(Array(first.utf8)).objectValue?["id"]?.stringValue)
            #expect(try await bed.place.run("events tail --after \(id)").lines.count == 2)
            let unknown = try await bed.place.run("events tail --after evt_00000000000000000000000000")
            #expect(unknown.code == 1)
        }
    }

    @Test func notificationsAreReplayedForImportedPeople() async throws {
        try await Self.withBed { bed in
            let ada = try await bed.simulator.add("ada")
            let subject = try await bed.simulator.subject(of: ada)
            let made = try await bed.simulator.control(
                .post, "notifications",
                [
                    "type": "consent-revoked", "person": "ada", "sub": .string(subject), "jti": "the-jti",
                    "deliver": false,
                ])
            let body: JSONObject = ["payload": .string(try #require(made["payload"]?.stringValue))]
            let answer = try await bed.server.client.send(
                .post, "/apple/notifications", [.contentType: "application/json"],
                body: String(decoding: JSONWriter.encode(body), as: UTF8.self))
            #expect(answer.status.code == 200)
            let listed = try await bed.place.run("notifications list --json --outcome unknownSubject")
            #expect(
                try listed.items.first?.names
                    == ["jti", "type", "clientID", "subject", "eventTime", "receivedAt", "outcome"])
            let shown = try await bed.place.run("notifications show the-jti --json")
            #expect(try shown.json["payload"]?.objectValue?["jti"] == "the-jti")
            #expect(try await bed.place.run("notifications replay the-jti").code == 1)

            let line = #"{"appleSubject":"\#(subject)","externalID":"7"}"#
            #expect(try await bed.place.run("users import -", input: line).code == 0)
            let replayed = try await bed.place.run("notifications replay --unknown-subjects --json")
            #expect(replayed.code == 0)
            #expect(try replayed.json == ["jti": "the-jti", "outcome": "applied"])
            let user = try await bed.place.run("users show --external-id 7 --json")
            #expect(try user.json["credentialState"]?.stringValue == "revoked")
            let again = try await bed.place.run("notifications replay the-jti --json")
            #expect(again.code == 0)
            #expect(try again.json["outcome"] == "appliedBefore")
            _ = try await bed.place.run(["users", "delete", try #require(user.json["id"]?.stringValue), "--yes"])
            let erased = try await bed.place.run("notifications replay the-jti")
            #expect(erased.code == 1 && erased.output.contains("erased"))
        }
    }
}

extension RunningSimulator {
    /// The `sub` this person has for the team, before any sign-in.
    func subject(of person: TestPerson) async throws -> String {
        for item in try await control(.get, "people")["items"]?.arrayValue ?? [] {
            guard let item = item.objectValue, item["id"]?.stringValue == person.id else { continue }
            let teams = item["teams"]?.arrayValue ?? []
            if let subject = teams.first?.objectValue?["sub"]?.stringValue { return subject }
        }
        throw ChildProcess.DidNotEnd(description: "\(person.id) has no subject")
    }
}
