import Accounts
import Coding
import Crypto
import HTTP
import HTTPTypes

/// The endpoints that programs call themselves: metadata, tokens, userinfo and revocation.
struct ProviderRoutes: Sendable {
    let responses: WebResponses
    let provider: OpenIDProvider
    /// Charged, and checked, only for clients that fail to prove themselves: sharing an address with them locks nobody
    /// out, and guessing 256 bits gains nothing by it.
    let failures: RateLimiter
    let stopwatch: Stopwatch

    /// OIDC Discovery §4, RFC 8414 §3. There is none while no program is registered.
    func metadata(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        guard try await !provider.database.openIDClients().isEmpty else {
            throw Failure(.openIDNotConfigured)
        }
        return responses.json(
            DiscoveryDocument.encode(issuer: provider.issuer),
            fields: [.cacheControl: "public, max-age=\(SigningKeySchedule.cacheLifetime)"])
    }

    /// RFC 6749 §3.2, OIDC Core §3.1.3.
    func token(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let (asked, client) = try await client(of: request)
        let answer: OpenIDProvider.TokenAnswer
        do {
            answer = try await provider.tokens(for: asked, of: client)
        } catch {
            throw error.of(client)
        }
        var writer = JSONWriter(reserving: 2_048)
        writer.beginObject()
        writer.member("access_token", answer.access.reveal())
        writer.member("token_type", "Bearer")
        writer.member("expires_in", answer.expiresIn)
        writer.member("id_token", answer.idToken.reveal())
        if let refresh = answer.refresh { writer.member("refresh_token", refresh.reveal()) }
        writer.member("scope", OpenIDScope.text(answer.scopes))
        writer.endObject()
        // RFC 6749 §5.1; no-store is on every answer.
        return responses.json(writer.bytes, fields: [.pragma: "no-cache"])
    }

    /// RFC 7009.
    func revoke(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let (asked, client) = try await client(of: request)
        try await provider.revoke(asked, of: client)
        return responses.empty(.ok)
    }

    /// OIDC Core §5.3.
    func userInfo(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        guard let token = try Self.bearer(of: request) else {
            throw Self.refusal(.tokenRequired, "", ProviderError(.invalidToken, "there is no access token"))
        }
        let held = try await provider.grant(access: token)
        guard let held else {
            throw .oauth(.invalidToken, "the access token is unknown or has ended")
        }
        return responses.json(JSONWriter.encode(provider.claims(of: held)))
    }

    /// RFC 6750 §2.1; in a form only without `Authorization` (§2.2). A query would end up in logs.
    private static func bearer(of request: ServerRequest) throws(Failure) -> String? {
        let authorizations = request.fields[values: .authorization]
        var found: [String] = []
        for value in authorizations {
            let parts = value.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased() == "bearer" else { continue }
            found.append(String(parts[1].drop { $0 == " " }))
        }
        if request.method == .post, MediaType.isForm(request.fields), let form = try? FormDecoder.parse(request.body) {
            found += form.filter { $0.name.isExactly("access_token") }.map(\.value)
        }
        guard found.count <= 1, authorizations.count <= 1 else {
            throw refusal(
                .invalidRequest, ", error=\"invalid_request\"",
                ProviderError(.invalidRequest, "the access token is sent in two ways"))
        }
        return found.first
    }

    /// - Parameter parameters: of the challenge, with a leading comma (RFC 6750 §3).
    private static func refusal(_ code: ReasonCode, _ parameters: String, _ error: ProviderError) -> Failure {
        var failure = Failure(code)
        failure.challenges = [Failure.challenge + parameters]
        failure.oauth = error
        return failure
    }

    private func client(of request: ServerRequest) async throws(Failure) -> (ProviderRequest, OpenIDClient) {
        guard MediaType.isForm(request.fields), let form = try? FormDecoder.parse(request.body) else {
            throw .oauth(.invalidRequest, "the content must be application/x-www-form-urlencoded")
        }
        do {
            let asked = try ProviderRequest(form, authorization: request.fields[values: .authorization])
            return (asked, try await provider.authenticate(asked))
        } catch {
            if error.oauth?.code == .invalidClient,
                case .refused(let seconds) = failures.consume(request.client, now: stopwatch.milliseconds)
            {
                throw .tooManyRequests(retryAfter: seconds)
            }
            throw error
        }
    }
}
