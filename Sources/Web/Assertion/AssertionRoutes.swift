import Coding
import Crypto
import HTTP
import HTTPTypes
import RelyingParty

/// `GET /api/v1/session/assertion` and `GET /.well-known/jwks.json`.
struct AssertionRoutes: Sendable {
    let issuer: AssertionIssuer?
    let responses: WebResponses
    let reader: SignedInReader
    let clock: any WallClock

    /// Who is signed in, signed: for a page or an app that hands it to a backend. The credential is that of
    /// `GET /api/v1/session`.
    func assertion(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        guard let issuer else { throw .assertionNotConfigured }
        let signedIn = try await reader.active(reader.credential(in: request.fields))
        let assertion: Assertion?
        do {
            assertion = try await issuer.assertion(for: signedIn, at: clock.now())
        } catch {
            throw .store(error)
        }
        guard let assertion else { throw .signedOut }
        var writer = JSONWriter(reserving: 1024)
        writer.beginObject()
        writer.member("assertion", assertion.token.reveal())
        writer.member("expiresAt", assertion.expiresAt)
        writer.endObject()
        return responses.json(writer.bytes)
    }

    /// The public keys, for anyone; kept by caches for less than a key is published before it signs.
    func keys(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        guard let issuer else { throw .assertionNotConfigured }
        let document: [UInt8]
        do {
            document = try await issuer.keys.document(at: clock.now())
        } catch {
            throw .store(error)
        }
        var response = responses.empty(
            .ok,
            fields: [
                // RFC 7517 §8.5.1.
                .contentType: "application/jwk-set+json",
                .cacheControl: "public, max-age=\(SigningKeySchedule.cacheLifetime)",
                .accessControlAllowOrigin: "*",
                .crossOriginResourcePolicy: "cross-origin",
            ])
        response.body = .bytes(document)
        return response
    }
}
