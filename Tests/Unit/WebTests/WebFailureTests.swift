import Accounts
import HTTP
import HTTPTypes
import Logging
import Testing

@testable import Web

/// What the codes alone decide of an answer.
@Suite struct WebFailureTests {
    @Test(
        "every code has the status and the level of its entry, and the status its words", arguments: ReasonCode.allCases
    )
    func entry(code: ReasonCode) {
        let failure = WebFailure(code, "detail")
        #expect(failure.status.code == code.entry.status)
        #expect(!failure.status.reasonPhrase.isEmpty)
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
        for (code, expected) in told { #expect(WebFailure(ofApp: Failure(code)).code == expected) }
    }

    @Test("what no route answers keeps its status and fields")
    func routing() {
        #expect(WebFailure(routing: .notFound).code == .notFound)
        #expect(WebFailure(routing: .unknownMethod).status == .notImplemented)
        let failure = WebFailure(routing: .methodNotAllowed(allow: "GET"))
        #expect(failure.code == .methodNotAllowed && failure.fields[.allow] == "GET")
        #expect(WebFailure(routing: .malformedPath).code == .badRequest)
    }

    @Test("a protocol's error is logged as its code says, but an access token that has ended is nobody's mistake")
    func provider() {
        for (error, code) in [
            (ProviderError.Code.invalidClient, ReasonCode.openIDClientRefused), (.invalidGrant, .openIDGrantRefused),
            (.unsupportedGrantType, .invalidRequest), (.temporarilyUnavailable, .unavailable),
        ] {
            let failure = WebFailure(ProviderError(error, "text", cause: "cause"))
            #expect(failure.code == code && failure.level == code.entry.level)
            #expect(failure.failure.detail == "cause" && failure.oauth?.text == "text")
        }
        #expect(WebFailure(ProviderError(.invalidToken, "ended")).level == .debug)
    }
}
