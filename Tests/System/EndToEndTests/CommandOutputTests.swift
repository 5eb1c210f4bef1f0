import Coding
import Foundation
import Strangers
import TemporaryFolders
import Testing

/// What commands print, ask and refuse, with the real program.
@Suite struct CommandOutputTests {
    static let people = """
        {"appleSubject":"a","externalID":"1","email":"ann@example.com","name":{"given":"雷","family":"李"}}
        {"appleSubject":"b","name":{"given":"admin"}}
        {"appleSubject":"c","name":{"given":"שלום","family":"עולם"}}
        """

    static func withPeople(_ body: (ServerPlace, [String]) async throws -> Void) async throws {
        try await CommandImportTests.withDatabase { place in
            #expect(try await place.run("users import -", input: people).code == 0)
            var ids: [String] = []
            for subject in ["a", "b", "c"] {
                let user = try await place.run("users show --apple-subject \(subject) --json").json
                ids.append(try #require(user["id"]?.stringValue))
            }
            try await body(place, ids)
        }
    }

    @Test func irrevocableCommandsAskForConfirmation() async throws {
        try await Self.withPeople { place, ids in
            let delete = "users delete \(ids[0])"
            let alone = try await place.run(delete)
            #expect(alone.code == 64 && alone.errors.contains("--yes"))
            #expect(try await place.run(delete, input: "yes\n").code == 64, "a pipe is not somebody")
            for answer in ["no\n", "\n", "YES\n", ids[1] + "\n", "\u{4}"] {
                let result = try await place.run(delete, input: answer, onTerminal: true)
                #expect(result.code == 1, "\(answer)")
                #expect(result.output.contains("Nothing was done"))
                #expect(result.output.contains("雷 李"))
            }
            #expect(try await place.run("users show \(ids[0])").code == 0)
            #expect(try await place.run(delete, input: "yes\n", onTerminal: true).code == 0)
            #expect(try await place.run("users show \(ids[0])").code == 1)
            #expect(try await place.run(delete + " --yes").code == 1)
            #expect(try await place.run("users delete \(ids[1])", input: ids[1] + "\n", onTerminal: true).code == 0)
            let last = try await place.run("users delete \(ids[2]) --yes --json")
            #expect(try last.json.names == ["id", "deleted", "appleNotified", "revocationsQueued"])

            #expect(try await place.run("sessions revoke --all").code == 64)
            #expect(try await place.run("users disable \(ids[0]) \(ids[1])").code == 64)
            let key = try await place.run(["api-keys", "create", "app", "--scopes", "introspect", "--json"])
            let id = try #require(try key.json["id"]?.stringValue)
            #expect(try await place.run("api-keys revoke \(id)").code == 64)
            #expect(try await place.run("api-keys revoke \(id)", input: "yes\n", onTerminal: true).code == 0)
            #expect(try await place.run("api-keys revoke \(id) --yes").code == 1)
        }
    }

    @Test func aTerminalGetsATableAndAPipeGetsTabs() async throws {
        try await Self.withPeople { place, ids in
            let piped = try await place.run("users list")
            #expect(Set(piped.lines.map { $0.prefix(30) }) == Set(ids.map { $0.prefix(30) }))
            #expect(piped.lines.allSatisfy { $0.split(separator: "\t", omittingEmptySubsequences: false).count == 7 })
            #expect(!piped.output.contains("\u{1B}"))
            let shown = try await place.run("users list", onTerminal: true).output
            #expect(shown.hasPrefix("\u{1B}[1mID "))
            #expect(shown.contains("\(ids[0])  active  雷 李 "))
            #expect(shown.contains("\u{200E}שלום עולם\u{200E}"))
            #expect(try await place.run("users list --state disabled").output == "")
        }
    }

    static let user = [
        "id", "state", "externalID", "appleSubject", "email", "emailVerified", "isPrivateEmail", "emailForwarding",
        "name", "realUserStatus", "organizationID", "credentialState", "credentialChangedAt", "credentialCause",
        "groups", "createdAt",
    ]

    @Test func jsonHasTheDocumentedMembers() async throws {
        try await Self.withPeople { place, ids in
            let list = try await place.run("users list --json --limit 2")
            #expect(try list.json.names == ["items", "next"])
            #expect(try list.items.map(\.names) == [Self.user, Self.user])
            let next = try #require(try list.json["next"]?.stringValue)
            let rest = try await place.run(["users", "list", "--json", "--limit", "2", "--after", next])
            #expect(try rest.items.count == 1)
            #expect(try rest.json["next"] == .null)
            let all = try await place.run("users list --json --all")
            #expect(try all.items == list.items + rest.items)
            let found = try await place.run("users list --json --email ANN@example.com")
            #expect(try found.items.map { $0["id"] } == [.string(ids[0])])
            for command in ["show", "approve", "disable", "enable", "groups"] {
                #expect(try await place.run("users \(command) \(ids[0]) --json").json.names == Self.user)
            }
            let two = try await place.run("users disable \(ids[1]) \(ids[2]) --yes --json")
            #expect(two.lines.count == 2)
            let export = try await place.run("users export \(ids[0])").json
            #expect(
                export.names
                    == [
                        "exportedAt", "complete", "user", "updatedAt", "emailForwardingChangedAt", "appleIdentities",
                        "sessions", "programs", "programSessions", "consents", "notifications", "events",
                    ])
            #expect(export["user"]?.objectValue?.names == Self.user)
            #expect(try await place.run("sessions list --json").json.names == ["items", "next"])
            #expect(try await place.run("notifications list --json").json.names == ["items", "next"])
            #expect(try await place.run("sessions revoke --user \(ids[0]) --json").json.names == ["revoked"])

            let made = try await place.run(["api-keys", "create", "李 app", "--scopes", "users:read", "--json"])
            let key = ["id", "name", "scopes", "createdAt", "lastUsedAt", "revokedAt", "expiresAt"]
            #expect(try made.json.names == ["key"] + key)
            let secret = try #require(try made.json["key"]?.stringValue)
            #expect(secret.hasPrefix("brk_") && secret.utf8.count == 47)
            let keys = try await place.run("api-keys list --json")
            #expect(try keys.items.map(\.names) == [key])
            #expect(!keys.output.contains(secret))
            let expiring = try await place.run([
                "api-keys", "create", "short", "--scopes", "users:read", "--expires", "90d", "--json",
            ])
            let (from, until) = (
                try expiring.json["createdAt"]?.stringValue, try expiring.json["expiresAt"]?.stringValue
            )
            let days = try #require(from.flatMap { Timestamp(rfc3339: $0) }).adding(seconds: 90 * 86_400)
            #expect(until == days.rfc3339)
            for wrong in ["0d", "2020-01-01", "soon", "-1d"] {
                let refused = try await place.run([
                    "api-keys", "create", "x", "--scopes", "users:read", "--expires", wrong,
                ])
                #expect(refused.code == 64, "\(wrong)")
            }
            let events = try await place.run("events tail --json")
            for line in events.lines {
                #expect(try JSONReader.parse(Array(line.utf8)).objectValue?.names == ["id", "type", "time", "data"])
            }
        }
    }

    @Test func exportsGoIntoNewFilesNobodyElseReads() async throws {
        try await Self.withPeople { place, ids in
            let path = place.folder.path + "/export.json"
            #expect(try await place.run(["users", "export", ids[0], "--output", path]).code == 0)
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            #expect(try await place.run(["users", "export", ids[0], "-o", path]).code == 1, "nothing is overwritten")
        }
    }

    @Test func unknownPeopleAreNamedAndTheOthersAreChanged() async throws {
        try await Self.withPeople { place, ids in
            let nobody = "usr_00000000000000000000000000"
            let result = try await place.run("users disable \(ids[0]) \(nobody) \(ids[1]) --yes")
            #expect(result.code == 1 && result.errors.contains("\(nobody) was not found"))
            #expect(result.lines.count == 2)
            let approve = try await place.run("users approve \(ids[0])")
            #expect(approve.code == 1 && approve.errors.contains("enable"))
            for command in ["show", "export", "delete --yes", "groups"] {
                #expect(try await place.run("users \(command) \(nobody)").code == 1)
            }
            #expect(try await place.run("sessions revoke --user \(nobody)").code == 1)
            #expect(try await place.run("sessions revoke ses_00000000000000000000000000").code == 1)
            #expect(try await place.run("notifications show nothing").code == 1)
        }
    }

    private func refusal(_ place: ServerPlace) async throws -> String {
        let result = try await place.run("users list")
        #expect(result.code == 1 && result.output == "")
        #expect(result.errors.split(separator: "\n").count == 1, "\(result.errors)")
        return result.errors
    }

    @Test func unusableDatabaseIsReportedInOneLine() async throws {
        let none = try ServerPlace()
        #expect(try await refusal(none).contains("Start bramley serve once"))
        #expect(!FileManager.default.fileExists(atPath: none.dataDirectory), "nothing was made")
        try await CommandImportTests.withDatabase { place in
            let key = place.dataDirectory + "/sealing.key"
            let content = try String(contentsOfFile: key, encoding: .utf8)
            try FileManager.default.removeItem(atPath: key)
            #expect(try await refusal(place).contains("restore the key"))
            #expect(!FileManager.default.fileExists(atPath: key))
            try Data((String(repeating: "ab", count: 32) + "\n").utf8).write(to: URL(filePath: key))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
            #expect(try await refusal(place).contains("does not belong"))
            try Data(content.utf8).write(to: URL(filePath: key))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
            #expect(try await place.run("users list").code == 0)
            for (origin, word) in [
                ("72656164", "origin"), ("7265616C", "holds real sign-ins"), ("73696D756C61746564", ""),
            ] {
                try Stranger.beside(place.databasePath).write {
                    try $0.execute("UPDATE meta SET value = x'\(origin)' WHERE key = 'origin'")
                }
                if !word.isEmpty { #expect(try await refusal(place).contains(word)) }
            }
            try Stranger.beside(place.databasePath).write {
                try $0.execute("DELETE FROM migration")
            }
            #expect(try await refusal(place).contains("older Bramley"))
            try Stranger.beside(place.databasePath).write {
                try $0.execute("INSERT INTO migration (name, applied_at) VALUES ('9999-future', 0)")
                try $0.execute("UPDATE meta SET value = CAST('9999-future' AS BLOB) WHERE key = 'oldest-admitted'")
            }
            #expect(try await refusal(place).contains("newer Bramley"))
        }
    }
}
