import Crypto
import HTTP
import HTTPTypes
import RelyingParty

/// `X-Auth-Request-Assertion` on answers of `/auth/verify`: once `assertion.audience` is given it is on each of them,
/// empty unless somebody is signed in and the proxy asked, so that none a client sent slips through. It asks with
/// `?assertion=NAME`, the name of an audience, or `?assertion=true` for the first one.
struct VerifyAssertions: Sendable {
    /// The parameter by which a proxy asks.
    static let parameter = "assertion"

    let issuer: AssertionIssuer?
    let clock: any WallClock

    /// Whom the assertion is asked for; nil when none is. The flag is `true`, `false` or the name of an audience.
    func audience(in query: Query) throws(WebFailure) -> AssertionAudience? {
        switch query.value(Self.parameter) {
        case .absent, .one("false"): return nil
        case .several: throw .badRequest("\(Self.parameter) is given more than once")
        // Without assertions the word has always been taken for nothing.
        case .one("true"): return issuer?.audiences[0]
        case .one(let name):
            guard let audience = issuer?.audience(named: name) else {
                throw .badRequest("\(Self.parameter) is neither true nor false nor one of assertion.audience")
            }
            return audience
        }
    }

    func addEmpty(to fields: inout HTTPFields) {
        if issuer != nil { fields[.authRequestAssertion] = "" }
    }

    /// The answer about an active person, with the assertion if it was asked for. A proxy that asked is not told less:
    /// without a key the answer is a failure.
    func adding(
        to answer: ServerResponse, _ signedIn: SignedIn?, _ request: ServerRequest
    ) async throws(WebFailure) -> ServerResponse {
        guard let issuer, let signedIn, let audience = try audience(in: Query(request)) else { return answer }
        var answer = answer
        let assertion = try await WebFailure.mapping(
            await issuer.assertion(about: signedIn, for: audience, at: clock.now()))
        answer.fields[.authRequestAssertion] = assertion?.token.reveal() ?? ""
        return answer
    }
}
