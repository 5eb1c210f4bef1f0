extension World {
    /// `POST /auth/revoke`. An invalid token is not an error.
    ///
    /// - Returns: the consent that ended, if one did.
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
