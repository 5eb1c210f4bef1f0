import Accounts
import Coding
import Crypto
import HTTP
import HTTPTypes

/// `GET /api/v1/session/assertion` and `GET /.well-known/jwks.json`.
struct AssertionRoutes: Sendable {
    let issuer: AssertionIssuer?
    /// Of assertions and ID tokens.
    let keys: SigningKeys?
    let responses: WebResponses
    let reader: SignedInReader
    let clock: any WallClock

    /// Names the audience.
    private static let parameter = "audience"

    /// Who is signed in, signed: for a page or an app that passes it to a backend. The credential is that of `GET
    /// /api/v1/session`; `audience` names a configured audience, by default the first.
    func assertion(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        guard let issuer else { throw WebFailure(.assertionNotConfigured) }
        let signedIn = try await reader.active(reader.credential(in: request.fields))
        let audience = try audience(of: request, issuer)
        let assertion = try await WebFailure.mapping(
            await issuer.assertion(about: signedIn, for: audience, at: clock.now()))
        guard let assertion else { throw WebFailure(.signedOut) }
        var writer = JSONWriter(reserving: 1024)
        writer.beginObject()
        writer.member("assertion", assertion.token.reveal())
        writer.member("expiresAt", assertion.expiresAt)
        writer.endObject()
        return responses.json(writer.bytes)
    }

    private func audience(
        of request: ServerRequest, _ issuer: AssertionIssuer
    ) throws(WebFailure) -> AssertionAudience {
        // Strict: a misspelt name would give the first audience an assertion that was meant for another.
        guard let name = try APIQuery(request, names: [Self.parameter])[Self.parameter] else {
            return issuer.audiences[0]
        }
        guard let audience = issuer.audience(named: name) else {
            throw .invalidRequest("audience is not one of assertion.audience")
        }
        return audience
    }

    /// The public keys, for anyone; cached for less than a key is published before it signs.
    func keys(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        guard let keys, let document = try await WebFailure.mapping(await keys.document(at: clock.now())) else {
            throw WebFailure(.assertionNotConfigured)
        }
        var response = responses.empty(
            .ok,
            fields: [
                // RFC 7517 §8.5.1.
                .contentType: "application/jwk-set+json",
                .cacheControl: "public, max-age=\(SigningKeySchedule.cacheLifetime)",
            ])
        response.body = .bytes(document)
        return response
    }
}
