import Accounts
import Coding
import Crypto
import HTTP
import HTTPTypes

/// `X-Auth-Request-Assertion` on answers of `/auth/verify`. When `assertion.audience` is configured, every answer has
/// it, empty unless somebody is signed in and the proxy asked, so that a client's own field never gets through. The
/// proxy asks with `?assertion=NAME`, an audience's name, or `?assertion=true` for the first.
extension WebRoutes {
    static let assertionParameter = "assertion"

    /// The requested audience; nil when none is. The value is `true`, `false` or an audience's name.
    func audience(in query: Query) throws(Failure) -> AssertionAudience? {
        switch try query.single(Self.assertionParameter) {
        case nil, "false": return nil
        // Without assertions the parameter has always been ignored.
        case "true"?: return issuer?.audiences[0]
        case let name?:
            guard let audience = issuer?.audience(named: name) else {
                throw .badRequest("\(Self.assertionParameter) is neither true nor false nor one of assertion.audience")
            }
            return audience
        }
    }

    func addEmptyAssertion(to fields: inout HTTPFields) {
        if issuer != nil { fields[.authRequestAssertion] = "" }
    }

    /// The answer for an active person, with the assertion if requested; without a key the answer is a failure.
    func adding(
        to answer: ServerResponse, _ signedIn: SignedIn?, _ request: ServerRequest
    ) async throws(Failure) -> ServerResponse {
        guard let issuer, let signedIn, let audience = try audience(in: Query(request)) else { return answer }
        var answer = answer
        let assertion = try await issuer.assertion(about: signedIn, for: audience, at: clock.now())
        answer.fields[.authRequestAssertion] = assertion?.token.reveal() ?? ""
        return answer
    }
}
