import Accounts
import HTTP
import HTTPTypes
import Logging
import Testing

@testable import Web

/// The parts of an answer that its code determines.
@Suite struct FailureTests {
    @Test(
        "every code has its entry's status and level", arguments: ReasonCode.allCases
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

    @Test("codes about a browser's state are about the nonce for an app")
    func apps() {
        let told: [(ReasonCode, ReasonCode)] = [
            (.invalidState, .invalidNonce), (.staleState, .nonceExpired), (.replayed, .nonceUsed),
            (.malformedCallback, .invalidRequest), (.clock, .clock), (.linkEnded, .linkEnded),
        ]
        for (code, expected) in told { #expect(Failure(code).ofApp.code == expected) }
    }

    @Test("requests without a route keep their status")
    func routing() {
        #expect(Failure(routing: .notFound).code == .notFound)
        #expect(Failure(routing: .unknownMethod).answerStatus == .notImplemented)
        #expect(Failure(routing: .methodNotAllowed(allow: "GET")).code == .methodNotAllowed)
        #expect(Failure(routing: .malformedPath).code == .badRequest)
    }

    @Test("an OAuth error is logged at its code's level, but an expired access token at debug")
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
