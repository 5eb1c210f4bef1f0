import Accounts
import Coding
import Crypto
import HTTP
import HTTPTypes

/// `GET /api/v1/session/assertion` and `GET /.well-known/jwks.json`.
extension WebRoutes {
    /// Who is signed in, signed for a backend. Credential as for `GET /api/v1/session`; without `audience`, the first.
    func assertion(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        guard let issuer else { throw Failure(.assertionNotConfigured) }
        let signedIn = try await reader.active(reader.credential(in: request.fields))
        let audience = try audience(of: request, issuer)
        let assertion = try await issuer.assertion(about: signedIn, for: audience, at: clock.now())
        guard let assertion else { throw Failure(.signedOut) }
        return responses.json { writer in
            writer.member("assertion", assertion.token.reveal())
            writer.member("expiresAt", assertion.expiresAt)
        }
    }

    private func audience(of request: ServerRequest, _ issuer: AssertionIssuer) throws(Failure) -> AssertionAudience {
        // Strict: a misspelt name would give the first audience an assertion that was meant for another.
        guard let name = try APIQuery(request, names: ["audience"])["audience"] else { return issuer.audiences[0] }
        guard let audience = issuer.audience(named: name) else {
            throw .invalidRequest("audience is not one of assertion.audience")
        }
        return audience
    }

    /// The public keys, for anyone; cached for less than a key is published before it signs.
    func publicKeys(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        guard let keys, let document = try await keys.document(at: clock.now()) else {
            throw Failure(.assertionNotConfigured)
        }
        // RFC 7517 §8.5.1.
        return responses.json(
            document, as: "application/jwk-set+json",
            fields: [.cacheControl: "public, max-age=\(SigningKeySchedule.cacheLifetime)"])
    }
}

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
