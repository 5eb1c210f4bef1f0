import Accounts
import HTTP
import HTTPTypes
import Logging
import Testing

@testable import Web

/// What the codes alone decide of an answer.
@Suite struct FailureTests {
    @Test(
        "every code has the status and the level of its entry, and the status its words", arguments: ReasonCode.allCases
    )
    func entry(code: ReasonCode) {
        let failure = Failure(code, "detail")
        #expect(failure.answerStatus.code == code.entry.status)
        #expect(!failure.answerStatus.reasonPhrase.isEmpty)
        #expect(failure.level == code.entry.level)
        #expect((failure.fields[.retryAfter] == nil) == (code.entry.status != 503))
        // RFC 9110 §15.5.2; those with more to say make their own.
        let own: [ReasonCode] = [.invalidToken, .apiKeyExpired, .openIDClientRefused]
        if code.entry.status == 401, !own.contains(code) { #expect(failure.fields[.wwwAuthenticate] != nil) }
        if code.entry.level == .debug { #expect(!failure.showsErrorID) }
    }

    @Test("an app is told of its nonce where a browser is told of its state")
    func apps() {
        let told: [(ReasonCode, ReasonCode)] = [
            (.invalidState, .invalidNonce), (.staleState, .nonceExpired), (.replayed, .nonceUsed),
            (.malformedCallback, .invalidRequest), (.clock, .clock), (.linkEnded, .linkEnded),
        ]
        for (code, expected) in told { #expect(Failure(code).ofApp.code == expected) }
    }

    @Test("what no route answers keeps its status")
    func routing() {
        #expect(Failure(routing: .notFound).code == .notFound)
        #expect(Failure(routing: .unknownMethod).answerStatus == .notImplemented)
        #expect(Failure(routing: .methodNotAllowed(allow: "GET")).code == .methodNotAllowed)
        #expect(Failure(routing: .malformedPath).code == .badRequest)
    }

    @Test("a protocol's error is logged as its code says, but an access token that has ended is nobody's mistake")
    func provider() {
        for (error, code) in [
            (ProviderError.Code.invalidClient, ReasonCode.openIDClientRefused), (.invalidGrant, .openIDGrantRefused),
            (.unsupportedGrantType, .invalidRequest), (.temporarilyUnavailable, .unavailable),
        ] {
            let failure = Failure.oauth(error, "text", cause: "cause")
            #expect(failure.code == code && failure.level == code.entry.level)
            #expect(failure.detail == "cause" && failure.oauth?.text == "text")
        }
        #expect(Failure.oauth(.invalidToken, "ended").level == .debug)
    }
}
