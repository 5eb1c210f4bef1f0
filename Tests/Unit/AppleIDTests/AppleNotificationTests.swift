import AppleID
import Coding
import IndependentSigning
import Testing

@testable import Accounts

struct AppleNotificationTests {
    private let apple: Apple

    init() throws {
        apple = try Apple()
    }

    private func receive(_ claims: Claims) async throws -> AppleNotification {
        try await receive(payload: try apple.signer.token(claims))
    }

    private func receive(payload: String) async throws -> AppleNotification {
        let verified = try await verify(payload)
        guard case .ours(let notification) = verified else { throw NotOurs() }
        return notification
    }

    private struct NotOurs: Error {}

    /// The other app that a genuine notification is for.
    private func otherApp(of payload: String) async throws -> String? {
        if case .ofOtherApp(let name) = try await verify(payload) { name } else { nil }
    }

    private func verify(_ payload: String) async throws -> VerifiedNotification {
        try await apple.provider.verifyNotification(Array(#"{"payload":"\#(payload)"}"#.utf8))
    }

    private func refusal(of claims: Claims) async throws -> String? {
        let error = await #expect(throws: Failure.self) { try await receive(claims) }
        return error?.code == .notificationRefused ? error?.detail : nil
    }

    @Test(arguments: [
        ("email-disabled", AppleNotification.Kind.emailDisabled), ("email-enabled", .emailEnabled),
        ("consent-revoked", .consentRevoked), ("account-delete", .accountDeleted), ("account-deleted", .accountDeleted),
        ("something-new", .unknown),
    ])
    func readsEveryType(type: String, kind: AppleNotification.Kind) async throws {
        let payload = try apple.signer.jwt(claims: Claims.notification(type).json, kid: IndependentSigner.firstKey)
        let notification = try await receive(payload: payload)
        #expect(notification.kind == kind)
        #expect(notification.type == type)
        #expect(notification.id == "abcDEF123")
        #expect(notification.subject == AppleSubject(Apple.subject))
        #expect(notification.clientID == ClientID(Apple.bundleID))
        #expect(notification.eventTime == TestClock.start.adding(seconds: -2))
        #expect(notification.payload.contains("abcDEF123"))
    }

    @Test func readsEventsAsAnObjectToo() async throws {
        let event: JSONValue = [
            "type": "email-enabled", "sub": "s", "event_time": 1_767_323_000,
            "email": "x@privaterelay.appleid.com", "is_private_email": "true",
        ]
        let notification = try await receive(Claims.notification(events: event))
        #expect(notification.eventTime == Timestamp(seconds: 1_767_323_000))
        #expect(
            notification.email
                == EmailAddress(address: "x@privaterelay.appleid.com", isVerified: false, isPrivate: true))
    }

    @Test(arguments: [
        (json("1767323000"), Timestamp(seconds: 1_767_323_000)),
        (json("1767323000123"), Timestamp(milliseconds: 1_767_323_000_123)),
        (json("1767323000.5"), Timestamp(milliseconds: 1_767_323_000_500)),
        (json("0"), Timestamp(milliseconds: 0)),
        // After its own delivery: reduced to the latest possible time.
        (json("1767326645"), TestClock.start.wholeSeconds.adding(seconds: 60)),
        (json("99999999999"), TestClock.start.wholeSeconds.adding(seconds: 60)),
        (json("9007199254740991"), TestClock.start.wholeSeconds.adding(seconds: 60)),
    ])
    func distinguishesSecondsFromMilliseconds(value: JSONValue?, time: Timestamp) async throws {
        let event = JSONValue.object(["type": "consent-revoked", "sub": "s", "event_time": value ?? .null])
        #expect(try await receive(Claims.notification(events: event)).eventTime == time)
    }

    @Test(arguments: [Apple.servicesID, Apple.bundleID])
    func isForAnyClientOfOurs(audience: String) async throws {
        #expect(
            try await receive(Claims.notification().setting("aud", .string(audience))).clientID == ClientID(audience))
    }

    /// One claim at a time missing, wrong or mistyped.
    @Test(
        arguments: [
            ("iss", nil), ("iss", "https://example.com"), ("iss", 1),
            ("aud", nil), ("aud", "com.example.other"), ("aud", 1), ("aud", ["com.example.app", "com.example.other"]),
            ("exp", nil), ("exp", "x"), ("exp", .integer(TestClock.start.seconds - 3600)),
            ("iat", nil), ("iat", "x"), ("iat", .integer(TestClock.start.seconds + 61)),
            ("jti", nil), ("jti", ""), ("jti", 1), ("jti", .string(String(repeating: "a", count: 256))),
            ("nonce", "n0nce"), ("nonce", .null),
            ("events", nil), ("events", ""), ("events", "{"), ("events", "[]"), ("events", "null"), ("events", []),
            ("events", 1), ("events", .null), ("events", #"{"type":"a","type":"a"}"#),
        ] as [(String, JSONValue?)])
    func refuses(name: String, value: JSONValue?) async throws {
        let check = try await refusal(of: Claims.notification().setting(name, value))
        #expect(check?.hasPrefix(name) == true)
        #expect(apple.keyFetches == 0, "refused before any key was looked for")
    }

    @Test(
        arguments: [
            ("type", nil), ("type", ""), ("type", 1), ("type", .string(String(repeating: "a", count: 129))),
            ("sub", nil), ("sub", ""), ("sub", 1), ("event_time", nil), ("event_time", "1767323000"),
            ("event_time", -1),
            ("event_time", json("1e999")), ("event_time", .null),
        ] as [(String, JSONValue?)])
    func refusesAnEvent(name: String, value: JSONValue?) async throws {
        var event: JSONObject = ["type": "account-delete", "sub": "s", "event_time": 1_767_323_000]
        event[name] = value
        let check = try await refusal(of: Claims.notification(events: .object(event)))
        #expect(check?.contains(name) == true)
    }

    @Test func anUnknownTypeNeedsNothingMore() async throws {
        let notification = try await receive(Claims.notification(events: ["type": "new"]))
        #expect(notification.subject == nil)
        #expect(notification.eventTime == TestClock.start.wholeSeconds)
    }

    @Test func boundsTheBody() async throws {
        let payload = try apple.signer.token(Claims.notification())
        let start = #"{"payload":"\#(payload)""#
        let padding = 65_536 - start.utf8.count - 1
        let full = Array(start.utf8) + [UInt8](repeating: 0x20, count: padding) + [UInt8(ascii: "}")]
        _ = try await apple.provider.verifyNotification(full)
        await #expect(throws: Failure(.notificationRefused, "body too large")) {
            try await apple.provider.verifyNotification([0x20] + full)
        }
    }

    @Test(
        "A genuine notification for another app is recognised with the held keys",
        arguments: [
            ("com.example.primary", "com.example.primary"), (["com.example.primary"], "com.example.primary"),
        ] as [(JSONValue, String)])
    func recognisesAnotherApps(audience: JSONValue, name: String) async throws {
        await apple.provider.keys.prepare()
        let claims = Claims.notification().setting("aud", audience)
        #expect(try await otherApp(of: apple.signer.token(claims)) == name)
        #expect(apple.keyFetches == 1)
    }

    @Test(
        "A forged notification for another app is refused like one for ours",
        arguments: [
            ("aud", ["com.example.primary", "com.example.other"]), ("aud", .string(String(repeating: "a", count: 256))),
            ("aud", "com.example\u{1B}[31m"), ("aud", ""), ("aud", []), ("aud", [1]), ("events", nil), ("nonce", "n"),
            ("iss", "https://example.com"), ("exp", .integer(TestClock.start.seconds - 3600)),
        ] as [(String, JSONValue?)])
    func doesNotRecogniseForgeries(name: String, value: JSONValue?) async throws {
        await apple.provider.keys.prepare()
        let claims = Claims.notification().setting("aud", "com.example.primary").setting(name, value)
        #expect(try await refusal(of: claims) != nil)
    }

    @Test func signatureOfAnotherKeyIsNotAnotherApps() async throws {
        await apple.provider.keys.prepare()
        let claims = Claims.notification().setting("aud", "com.example.primary")
        let forged = try apple.signer.sign(
            header: #"{"kid":"T8tIJ1zSrO","alg":"RS256"}"#, payload: claims.json, key: IndependentSigner.strangersKey)
        let unknown = try apple.signer.token(claims, kid: IndependentSigner.strangersKey)
        for token in [forged, unknown] {
            await #expect(throws: Failure(.notificationRefused, "aud is not ours")) {
                try await receive(payload: token)
            }
        }
        #expect(apple.keyFetches == 1, "no key is fetched for what is refused anyway")
    }

    /// Recognition costs a limited number of signatures per second, and no fetch but the hourly one.
    @Test func recognisingAnotherAppsIsBounded() async throws {
        await apple.provider.keys.prepare()
        let token = try apple.signer.token(Claims.notification().setting("aud", "com.example.primary"))
        func post(_ count: Int) async -> Int {
            var told = 0
            for _ in 0..<count {
                do {
                    if try await otherApp(of: token) == "com.example.primary" { told += 1 }
                } catch {
                    #expect(error as? Failure == Failure(.notificationRefused, "aud is not ours"))
                }
            }
            return told
        }
        #expect(await post(300) == 100)
        apple.clock.advance(seconds: 1)
        #expect(await post(50) == 50)
        #expect(apple.keyFetches == 1)
    }

    @Test func newKeyRecognisesAnotherAppAfterTheHourlyRenewal() async throws {
        await apple.provider.keys.prepare()
        try apple.publish([IndependentSigner.firstKey, IndependentSigner.secondKey])
        let claims = Claims.notification().setting("aud", "com.example.primary")
        let token = try apple.signer.token(claims, kid: IndependentSigner.secondKey)
        await #expect(throws: Failure(.notificationRefused, "aud is not ours")) { try await receive(payload: token) }
        apple.clock.advance(seconds: 3600)
        #expect(try await otherApp(of: token) == "com.example.primary")
        #expect(apple.keyFetches == 2)
    }

    /// Regression: a stand-in for Apple that was restarted with a new key under the same kid was refused for up to an hour.
    @Test func aKeyThatChangedUnderItsKidIsFetchedAgain() async throws {
        _ = try await receive(Claims.notification())
        let (kid, other) = (IndependentSigner.firstKey, IndependentSigner.secondKey)
        let token = try apple.signer.sign(
            header: #"{"kid":"\#(kid)","alg":"RS256"}"#, payload: Claims.notification().json, key: other)
        apple.transport.answer("/auth/keys", try apple.signer.keySet([other]).replacing(other, with: kid))
        #expect(try await receive(payload: token).id == "abcDEF123")
        #expect(apple.keyFetches == 2)
        // What the old key signed is a forgery now, and costs nobody a fetch for a minute.
        for _ in 0..<100 {
            await #expect(throws: Failure(.notificationRefused, "signature is wrong")) {
                try await receive(Claims.notification())
            }
        }
        #expect(apple.keyFetches == 2)
    }

    @Test func forgedSignaturesCostAFetchAMinute() async throws {
        _ = try await receive(Claims.notification())
        let forged = try apple.signer.sign(
            header: #"{"kid":"T8tIJ1zSrO","alg":"RS256"}"#, payload: Claims.notification().json,
            key: IndependentSigner.strangersKey)
        for second in 0..<120 as Range<Int64> {
            await #expect(throws: Failure(.notificationRefused, "signature is wrong")) {
                try await receive(payload: forged)
            }
            if second == 59 { #expect(apple.keyFetches == 2) }
            apple.clock.advance(seconds: 1)
        }
        #expect(apple.keyFetches == 3)
        _ = try await receive(Claims.notification())
    }
}
