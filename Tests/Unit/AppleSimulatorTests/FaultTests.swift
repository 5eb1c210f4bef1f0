import AppleSimulator
import Coding
import HTTPTypes
import Synchronization
import Testing

@Suite struct FaultTests {
    private let fixture = Fixture()

    private func keys(_ fault: JSON) async throws -> Answer {
        let fixture = Fixture()
        #expect(try await fixture.control(.put, "faults/keys", fault).status == 200)
        return try await fixture.get("/auth/keys")
    }

    @Test func bodyCanBeAnythingOfAnySize() async throws {
        let html = try await keys(["body": "html"])
        #expect(html.status == 200 && html.text.contains("<html>"))
        #expect(try await keys(["body": "garbage"]).json == .null)
        #expect(try await keys(["body": "empty"]).body.isEmpty)
        #expect(try await keys(["body": ["text": "{\"keys\":1}"], "contentType": "text/plain"]).json["keys"] == 1)
        let answer = try await keys(["status": 503])
        #expect(answer.status == 503)
        #expect(answer.fields[.contentType]?.hasPrefix("text/html") == true)
        let huge = try await keys(["hugeBytes": 3_000_000])
        #expect(huge.body.count == 3_000_000)
        #expect(huge.json["filler"] != nil)
    }

    @Test func bodyStopsHalfWay() async throws {
        let whole = try await Fixture().get("/auth/keys").body.count
        let half = try await keys(["close": "half"])
        #expect(half.isBroken && half.body.count == whole / 2)
        let start = try await keys(["close": "start"])
        #expect(start.isBroken && start.body.isEmpty)
    }

    @Test func lostAnswerUsedTheCode_AnErrorInsteadLeavesIt() async throws {
        let code = try await fixture.code()
        try await fixture.control(.put, "faults/token", ["close": "half", "remaining": 1])
        #expect(try await fixture.exchange(code).isBroken)
        #expect(try await fixture.exchange(code).json["error_description"] == "The code has already been used.")
        let other = try await fixture.code()
        try await fixture.control(.put, "faults/token", ["error": "invalid_client", "remaining": 1])
        let answer = try await fixture.exchange(other)
        #expect(answer.status == 400 && answer.json == ["error": "invalid_client"])
        #expect(try await fixture.exchange(other).status == 200)
    }

    @Test func delayIsWaitedFor() async throws {
        try await fixture.control(.put, "faults/keys", ["delay": 1500])
        #expect(try await fixture.get("/auth/keys").status == 200)
        #expect(fixture.pauses.values.withLock { $0 } == [1500])
    }

    @Test func requestWithoutUserAgentIsForbidden() async throws {
        try await fixture.control(.put, "faults/keys", ["requireUserAgent": true])
        #expect(try await fixture.get("/auth/keys").status == 403)
        #expect(try await fixture.send(.get, "/auth/keys", [.userAgent: "test"]).status == 200)
    }

    @Test(arguments: ["faults/reset", "reset"])
    func hangingRequestsContinueAfterReset(_ path: String) async throws {
        try await fixture.control(.put, "faults/keys", ["hang": true])
        try await fixture.control(.put, "faults/revoke", ["status": 500])
        async let hanging = fixture.get("/auth/keys")
        while try await fixture.control(.get, "state").json["hanging"] != 1 { await Task.yield() }
        try await fixture.control(.post, path)
        #expect(try await hanging.status == 200)
        #expect(try await fixture.control(.get, "faults").json == [:])
    }

    @Test func stallSendsHalfAndTheRestAfterReset() async throws {
        try await fixture.control(.put, "faults/keys", ["stall": true])
        async let stalled = fixture.get("/auth/keys")
        while try await fixture.control(.get, "state").json["hanging"] != 1 { await Task.yield() }
        try await fixture.control(.delete, "faults/keys")
        #expect(try await stalled.json["keys"]?.arrayValue?.count == 3)
    }

    @Test func cancelledRequestDoesNotHang() async throws {
        try await fixture.control(.put, "faults/keys", ["hang": true])
        await withTaskGroup { group in
            group.addTask { _ = try? await fixture.get("/auth/keys") }
            group.cancelAll()
        }
        #expect(try await fixture.control(.get, "state").json["hanging"] == 0)
    }

    struct Mistake: Sendable {
        var path: String
        var body: JSON
        var status = 400
    }

    @Test(arguments: [
        Mistake(path: "faults/keys", body: ["delay": -1]), Mistake(path: "faults/keys", body: ["odd": 1]),
        Mistake(path: "faults/keys", body: ["status": 99]), Mistake(path: "faults/keys", body: ["body": "odd"]),
        Mistake(path: "faults/keys", body: ["close": true]),
        Mistake(path: "faults/moon", body: ["delay": 1], status: 404),
        Mistake(path: "tokens", body: ["wrong": ["everything"]]), Mistake(path: "tokens", body: ["flags": "maybe"]),
        Mistake(path: "tokens", body: ["odd": 1]), Mistake(path: "behaviour", body: ["odd": 1]),
        Mistake(path: "clock", body: [:]),
    ])
    func mistakeInASettingIsNamed(_ mistake: Mistake) async throws {
        let answer = try await Fixture().control(.put, mistake.path, mistake.body)
        #expect(answer.status == mistake.status)
        #expect(answer.json["error"]?.stringValue?.isEmpty == false)
    }
}
