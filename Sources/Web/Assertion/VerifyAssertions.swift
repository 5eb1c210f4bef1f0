import Crypto
import HTTP
import HTTPTypes
import RelyingParty

/// `X-Auth-Request-Assertion` on answers of `/auth/verify`: once `assertion.audience` is given it is on each of them,
/// empty unless somebody is signed in and the proxy asked with `?assertion=true`, so that none a client sent slips
/// through.
struct VerifyAssertions: Sendable {
    /// The parameter by which a proxy asks.
    static let parameter = "assertion"

    let issuer: AssertionIssuer?
    let clock: any WallClock

    func addEmpty(to fields: inout HTTPFields) {
        if issuer != nil { fields[.authRequestAssertion] = "" }
    }

    /// The answer about an active person, with the assertion if it was asked for. A proxy that asked is not told less:
    /// without a key the answer is a failure.
    func adding(
        to answer: ServerResponse, _ signedIn: SignedIn?, _ request: ServerRequest
    ) async throws(WebFailure) -> ServerResponse {
        guard let issuer, let signedIn, Query(request).isTrue(Self.parameter) else { return answer }
        var answer = answer
        do {
            let assertion = try await issuer.assertion(for: signedIn, at: clock.now())
            answer.fields[.authRequestAssertion] = assertion?.token.reveal() ?? ""
        } catch {
            throw .store(error)
        }
        return answer
    }
}
