import Coding

struct Decision: Sendable {
    var givenName: String
    var familyName: String
    var sharesAddress: Bool

    init(person: Person) {
        givenName = person.givenName
        familyName = person.familyName
        sharesAddress = !person.hidesEmail
    }
}

struct SignIn: Sendable {
    var code: String
    var identityToken: IdentityToken?
    var state: String?
    /// The `user` field: a JSON text, on the first consent only.
    var user: JSON?

    /// The fields to return, in Apple's order.
    func fields() -> FormFields {
        let token = identityToken?.signed()
        return [("state", state), ("code", code), ("id_token", token), ("user", user?.text)].compactMap {
            (name, value) in value.map { FormField(name: name, value: $0) }
        }
    }

    /// The only error that is returned: the person declined.
    static func cancelled(state: String?) -> FormFields {
        (state.map { [FormField(name: "state", value: $0)] } ?? [])
            + [FormField(name: "error", value: "user_cancelled_authorize")]
    }
}

extension World {
    /// The person agreed: creates a consent if there is none, a code, and its identity token.
    mutating func signIn(_ request: AuthorizeRequest, person: Person, decision: Decision, at moment: Moment) -> SignIn {
        let consentKey = Consent.Key(person: person.id, team: request.client.team)
        let isFirst = consents[consentKey] == nil
        let consent = consents[consentKey] ?? Consent(person: person, decision: decision, at: moment)
        consents[consentKey] = consent

        let grant = Grant(
            person: person.id, client: request.client.id, team: request.client.team,
            redirectURI: request.redirectURI, scopes: request.scopes, nonce: request.nonce,
            challenge: request.challenge, authenticatedAt: moment.seconds, isNative: request.client.isNative,
            isFirst: isFirst)
        let code = moment.makeToken("c")
        codes[code] = AuthorizationCode(grant: grant, issuedAt: moment.milliseconds)
        forgetOld(now: moment.milliseconds)

        var signIn = SignIn(code: code, state: request.state)
        if request.wantsIdentityToken {
            signIn.identityToken = identityToken(
                for: grant, person: person, consent: consent, channel: .authorize, companion: code, at: moment)
        }
        if isFirst {
            let address = person.address(consent, team: grant.team)
            signIn.user = Self.user(request.scopes, consent: consent, address: address)
        }
        return signIn
    }

    mutating func identityToken(
        for grant: Grant, person: Person, consent: Consent, channel: TokenQuirks.Channel, companion: String,
        at moment: Moment
    ) -> IdentityToken {
        let transfer = transfers.first { _, transfer in
            transfer.person == grant.person && transfer.recipient == grant.team
                && moment.milliseconds - transfer.startedAt < Transfer.lifetime
        }
        return IdentityToken(
            grant: grant, person: person, consent: consent, transferSubject: transfer?.key, issuer: moment.issuer,
            now: moment.seconds, channel: channel, companion: companion, key: keys.signing,
            quirks: quirks.consume(channel))
    }

    private static func user(_ scopes: Set<String>, consent: Consent, address: String?) -> JSON? {
        var user = JSONObject()
        if scopes.contains("name") {
            user["name"] = ["firstName": .string(consent.givenName), "lastName": .string(consent.familyName)]
        }
        if scopes.contains("email"), let address { user["email"] = .string(address) }
        guard !user.isEmpty else { return nil }
        return .object(user)
    }
}

extension Consent {
    init(person: Person, decision: Decision, at moment: Moment) {
        // Work & School accounts cannot hide their address.
        let shares = decision.sharesAddress || person.organizationID != nil
        self.init(
            address: person.email == nil ? .none : shares ? .real : .relay, givenName: decision.givenName,
            familyName: decision.familyName, since: moment.milliseconds)
    }
}
