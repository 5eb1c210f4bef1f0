import HTTP
import HTTPTypes
import Synchronization
import Testing
import Web

@testable import Accounts

/// However a callback ends, its form is parsed once.
@Suite struct CallbackReadingTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var status: Int
        var fields: [(String, String)] = []
        var cookie: String? = CallbackRouteTests.binding
        var failure: Failure?
        var isOneTooMany = false
    }

    static let cases = [
        Case(testDescription: "signed in", status: 303),
        Case(testDescription: "token refused", status: 400, failure: Failure(.identityToken, "iss")),
        Case(testDescription: "keys unavailable", status: 503, failure: Failure(.keysUnavailable, "down")),
        Case(testDescription: "cancelled", status: 400, fields: [("error", "user_cancelled_authorize")]),
        Case(testDescription: "another browser", status: 400, cookie: "__Host-bramley-login=x"),
        Case(testDescription: "posted again", status: 200, cookie: nil),
        Case(testDescription: "flagged, from elsewhere", status: 400, fields: [("bramley_repost", "1")]),
        Case(testDescription: "one too many", status: 429, isOneTooMany: true),
    ]

    @Test(arguments: cases)
    func isParsedOnce(_ test: Case) async throws {
        let site = try Site(adjust: { if test.isOneTooMany { $0.limits.signInsPerMinute = 1 } })
        let state = try await site.state()
        site.apple.verifyFailure.withLock { $0 = test.failure }
        if test.isOneTooMany { while await site.get("/login").status == .ok {} }
        let form = [("state", state), ("code", "c"), ("id_token", "t"), ("user", "{}")] + test.fields
        let answer = await site.post(
            "/apple/callback", form: form, test.cookie.map { [.cookie: $0] } ?? [:])
        #expect(answer.status.code == test.status)
        #expect(site.apple.parsedForms.withLock { $0 } == 1)
    }
}
