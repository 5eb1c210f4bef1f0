import Coding
import HTTPTypes
import Testing

/// `bramley credentials revocations` beside a running server, and a running Apple that does not answer.
@Suite struct CommandRevocationTests {
    private static let members = [
        "id", "state", "clientID", "queuedAt", "nextAttemptAt", "endsAt", "attempts", "failure",
    ]

    @Test func operatorSeesPendingRevocationsAndRetriesThem() async throws {
        try await CommandEffectTests.withBed { bed in
            let list = "credentials revocations"
            #expect(try await bed.place.run("\(list) --json").json == ["items": .array([]), "next": .null])
            _ = try await bed.simulator.control(.put, "faults/revoke", ["status": 503])
            var people: [String] = []
            for name in ["ada", "boris"] {
                let user = try await bed.user(try await bed.signIn(name))
                people.append(user)
                #expect(try await bed.place.run("users delete \(user) --yes").code == 0)
            }
            try await eventually("Apple did not answer") {
                let items = try await bed.place.run("\(list) --json").items
                return items.count == 2 && items.allSatisfy { $0["failure"]?.stringValue == "provider_unavailable" }
            }
            let listed = try await bed.place.run("\(list) --json --limit 1")
            let item = try #require(try listed.items.first)
            #expect(item.names == Self.members)
            // The server may be asking again at this very moment.
            #expect(["retrying", "asking"].contains(item["state"]?.stringValue))
            #expect(item["nextAttemptAt"]?.stringValue != nil)
            let next = try #require(try listed.json["next"]?.stringValue)
            let rest = try await bed.place.run("\(list) --json --cursor \(next)")
            #expect(try rest.items.count == 1 && rest.items.first != item && rest.json["next"] == .null)
            #expect(try await bed.place.run("\(list) --cursor !").code == 64)
            let shown = try await bed.place.run(list, onTerminal: true).output
            #expect(shown.contains("STATE") && shown.contains("com.ex"))
            // Who it was is not kept, and a token is never shown.
            for trace in people + ["ada", "boris", "oken"] {
                #expect(!(shown + listed.output + rest.output).contains(trace), "\(trace)")
            }

            _ = try await bed.simulator.control(.delete, "faults")
            let retried = try await bed.place.run("\(list) --retry --json")
            #expect(try retried.json.names == ["retried"])
            try await eventually("Apple is told, and nothing is left to see") {
                try await bed.place.run("\(list) --json").items.isEmpty
            }
            #expect(try await bed.place.run("\(list) --retry").output == "0 revocations are due now\n")
        }
    }

    @Test func withoutATokenTheOutputSaysWhatThePersonCanDo() async throws {
        try await CommandEffectTests.withBed { bed in
            let line = #"{"appleSubject":"001.a.1","externalID":"7"}"#
            #expect(try await bed.place.run("users import -", input: line).code == 0)
            let user = try await bed.place.run("users show --external-id 7 --json").json["id"]?.stringValue
            let deleted = try await bed.place.run(["users", "delete", try #require(user), "--yes", "--json"])
            #expect(try deleted.json["revocationsQueued"]?.int64Value == 0)
            #expect(deleted.errors.contains("Apple cannot be notified"))
            #expect(try await bed.place.run("users show --external-id 7").code == 1)
            #expect(try await bed.place.run("credentials revocations --json").items.isEmpty)
        }
    }
}
