import Coding

/// An error of RFC 6749 §5.2, and what the journal of the control page says about it.
struct OAuthError: Error, Sendable {
    var code: String
    /// `error_description`, where Apple is known to send one.
    var description: String?
    /// For the developer; never sent.
    var reason: String

    static func request(_ reason: String) -> OAuthError { OAuthError(code: "invalid_request", reason: reason) }
    static func client(_ reason: String) -> OAuthError { OAuthError(code: "invalid_client", reason: reason) }
    static func grant(_ description: String) -> OAuthError {
        OAuthError(code: "invalid_grant", description: description, reason: description)
    }
}

struct TokenAnswer: Sendable {
    var accessToken: String
    var refreshToken: String?
    var identityToken: IdentityToken?

    func json() -> JSON {
        var json: JSON = [
            "access_token": .string(accessToken), "token_type": "Bearer",
            "expires_in": .integer(StoredToken.accessLifetime),
        ]
        if let refreshToken { json["refresh_token"] = .string(refreshToken) }
        if let identityToken { json["id_token"] = .string(identityToken.signed()) }
        return json
    }
}

extension World {
    mutating func token(_ fields: FormFields, at moment: Moment) throws(OAuthError) -> TokenAnswer {
        if let name = fields.duplicate { throw .request("\(name) is repeated") }
        switch fields.text("grant_type") {
        case "authorization_code": return try redeem(fields, at: moment)
        case "refresh_token": return try renew(fields, at: moment)
        case "client_credentials": return try migrationToken(fields, at: moment)
        case nil: throw .request("grant_type is missing")
        case let other?: throw OAuthError(code: "unsupported_grant_type", reason: "grant_type \(other)")
        }
    }

    /// As at Apple, the code is looked up before the client: if both are wrong, the answer is `invalid_grant`.
    private mutating func redeem(_ fields: FormFields, at moment: Moment) throws(OAuthError) -> TokenAnswer {
        guard let text = fields.text("code") else { throw .request("code is missing") }
        guard let code = codes[text], !code.isRevoked,
            code.isUsed || moment.milliseconds - code.issuedAt < AuthorizationCode.lifetime
        else { throw .grant("The code has expired or has been revoked.") }
        guard !code.isUsed else { throw .grant("The code has already been used.") }
        let client = try authenticate(fields, at: moment)
        guard client.id == code.grant.client else {
            throw .grant("client_id mismatch. The code was not issued to \(client.id).")
        }
        // A request names a redirect URI only if the first one did (RFC 6749 §4.1.3).
        guard fields.text("redirect_uri") == code.grant.redirectURI else {
            throw .grant("redirect_uri mismatch. The code was not issued to \(fields["redirect_uri"] ?? "").")
        }
        try Self.check(fields.text("code_verifier"), against: code.grant.challenge)
        codes[text]?.isUsed = true
        return try issue(code.grant, withRefreshToken: true, at: moment)
    }

    private static func check(_ verifier: String?, against challenge: CodeChallenge?) throws(OAuthError) {
        switch (verifier, challenge) {
        case (nil, nil): return
        case (nil, _?): throw .grant("code_verifier mismatch. The authorization request had a code_challenge.")
        case (_?, nil): throw .grant("code_verifier mismatch. The authorization request had no code_challenge.")
        case (let verifier?, let challenge?):
            guard challenge.accepts(verifier) else { throw .grant("code_verifier mismatch.") }
        }
    }

    private mutating func renew(_ fields: FormFields, at moment: Moment) throws(OAuthError) -> TokenAnswer {
        guard let text = fields.text("refresh_token") else { throw .request("refresh_token is missing") }
        guard let token = tokens[text], token.kind == .refresh, let grant = token.grant else {
            throw .grant("The token has expired or has been revoked.")
        }
        guard !token.isRevoked else {
            let description = "The token has expired or has been revoked."
            throw OAuthError(code: behaviour.errorAfterRevocation, description: description, reason: description)
        }
        let client = try authenticate(fields, at: moment)
        guard client.id == grant.client else {
            throw .grant("client_id mismatch. The token was not issued to \(client.id).")
        }
        return try issue(grant, withRefreshToken: false, at: moment)
    }

    private mutating func issue(
        _ grant: Grant, withRefreshToken: Bool, at moment: Moment
    ) throws(OAuthError) -> TokenAnswer {
        guard let person = person(grant.person),
            let consent = consents[Consent.Key(person: grant.person, team: grant.team)]
        else { throw .grant("The code has expired or has been revoked.") }
        let access = moment.makeToken("a")
        tokens[access] = StoredToken(kind: .access, team: grant.team, grant: grant, issuedAt: moment.milliseconds)
        let refresh = withRefreshToken ? moment.makeToken("r") : nil
        if let refresh {
            tokens[refresh] = StoredToken(kind: .refresh, team: grant.team, grant: grant, issuedAt: moment.milliseconds)
        }
        forgetOld(now: moment.milliseconds)
        let token = identityToken(
            for: grant, person: person, consent: consent, channel: .token, companion: access, at: moment)
        return TokenAnswer(accessToken: access, refreshToken: refresh, identityToken: token)
    }

    private mutating func migrationToken(_ fields: FormFields, at moment: Moment) throws(OAuthError) -> TokenAnswer {
        let client = try authenticate(fields, at: moment)
        guard fields.text("scope") == "user.migration" else {
            throw OAuthError(code: "invalid_scope", reason: "client_credentials is for the scope user.migration")
        }
        let access = moment.makeToken("a")
        tokens[access] = StoredToken(kind: .migration, team: client.team, issuedAt: moment.milliseconds)
        return TokenAnswer(accessToken: access)
    }

    /// The client of `client_id` and `client_secret`; the secret is really verified.
    func authenticate(_ fields: FormFields, at moment: Moment) throws(OAuthError) -> SimulatorConfiguration.Client {
        guard let id = fields.text("client_id") else { throw .client("client_id is missing") }
        guard let client = client(id), let team = team(client.team) else { throw .client("client_id \(id) is unknown") }
        guard let secret = fields.text("client_secret") else { throw .client("client_secret is missing") }
        let refusal = ClientSecret.refusal(
            of: secret, clientID: id, team: team, audiences: moment.audiences, now: moment.seconds)
        if let refusal { throw .client(refusal) }
        return client
    }

    /// `POST /auth/revoke`. An invalid token is not an error. Returns the consent that ended, if one did.
    mutating func revoke(_ fields: FormFields, at moment: Moment) throws(OAuthError) -> Consent.Key? {
        if let name = fields.duplicate { throw .request("\(name) is repeated") }
        let client = try authenticate(fields, at: moment)
        guard let text = fields.text("token") else { throw .request("token is missing") }
        let hint = fields.text("token_type_hint")
        guard hint == nil || hint == "refresh_token" || hint == "access_token" else {
            throw .request("token_type_hint \(hint ?? "") is neither refresh_token nor access_token")
        }
        guard let token = tokens[text], let grant = token.grant, grant.client == client.id, !token.isRevoked else {
            return nil
        }
        if let hint, hint != (token.kind == .refresh ? "refresh_token" : "access_token") {
            throw .request("token_type_hint \(hint) does not fit the token")
        }
        let key = Consent.Key(person: grant.person, team: grant.team)
        revokeConsent(key)
        return key
    }
}
