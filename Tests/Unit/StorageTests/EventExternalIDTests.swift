import Coding
import Stores
import Testing

@testable import Accounts
@testable import Storage

/// The application's own id on every event about somebody who has one, kept when the user is gone.
@Suite struct EventExternalIDTests {
    @Test("every event about a person carries their external ID", arguments: JournalCauseTests.changes)
    func everyEvent(change: JournalCauseTests.Change) async throws {
        let bench = try await WebhookBench(people: 1)
        let ann = bench.people[0]
        _ = try await bench.database.patchUser(ann, UserPatch(externalID: .some("shop-77")), at: bench.now)
        let before = try await bench.database.events(after: nil, limit: 100).count
        try await change.change(bench)
        let told = try await bench.database.events(after: nil, limit: 100).dropFirst(before)
        #expect(!told.isEmpty)
        for entry in told {
            let expected = entry.fields.contains("externalID") ? "x" : "shop-77"
            #expect(entry.externalID == (entry.user == ann ? expected : nil), "\(entry.kind)")
        }
    }

    @Test("an event keeps the external ID of its time, and has none after its removal")
    func ofItsTime() async throws {
        let bench = try await WebhookBench(people: 1)
        let ann = bench.people[0]
        let start = try await bench.database.events(after: nil, limit: 100).count
        for value in ["one", "two", nil] {
            _ = try await bench.database.patchUser(ann, UserPatch(externalID: .some(value)), at: bench.now)
        }
        _ = try await bench.database.deleteUser(ann, at: bench.now)
        let told = try await bench.database.events(after: nil, limit: 100).dropFirst(start)
        #expect(told.map(\.externalID) == ["one", "two", nil, nil, nil])
    }

    @Test("a webhook delivered after the deletion carries it")
    func webhook() async throws {
        let bench = try await WebhookBench(people: 1)
        let ann = bench.people[0]
        _ = try await bench.database.patchUser(ann, UserPatch(externalID: .some("shop-77")), at: bench.now)
        _ = try await bench.database.deleteUser(ann, at: bench.now)
        let entry = try #require(try await bench.database.events(after: nil, limit: 100).last)
        #expect(entry.kind == .accountDeleted)
        let body = String(decoding: entry.webhookBody, as: UTF8.self)
        #expect(body.contains(#""user":"\#(ann.rawValue)","externalID":"shop-77"}"#), "\(body)")
    }
}
