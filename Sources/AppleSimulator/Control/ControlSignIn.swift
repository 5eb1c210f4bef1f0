/// Sign-ins, tokens and keys through the control interface.
extension Simulator {
    /// `POST /simulator/api/authorize`: a complete sign-in without a browser.
    func authorize(_ body: JSON) throws(ControlError) -> JSON {
        let fields = try authorizeFields(body)
        let plan = try change { world, moment throws(ControlError) in
            try Self.authorize(body, fields, in: &world, at: moment)
        }
        let answer = plan.signIn?.fields() ?? SignIn.cancelled(state: plan.request.state)
        var json: JSON = [:]
        for pair in answer.pairs { json[pair.name] = .string(pair.value) }
        json["redirect_uri"] = .text(plan.request.redirectURI)
        json["response_mode"] = .string(plan.request.responseMode.rawValue)
        json["form"] = .string(answer.encoded)
        return json
    }

    private struct Plan: Sendable {
        var request: AuthorizeRequest
        /// Nil: cancelled.
        var signIn: SignIn?
    }

    private static func authorize(
        _ body: JSON, _ fields: FormFields, in world: inout World, at moment: Moment
    ) throws(ControlError) -> Plan {
        let request: AuthorizeRequest
        do throws(AuthorizeError) {
            request = try AuthorizeRequest(fields, clients: world.clients, allowsNative: true)
        } catch {
            throw .invalid("\(error.code): \(error.explanation)")
        }
        guard body["decision"]?.string != "cancel" else { return Plan(request: request) }
        guard let person = world.person(body["person"]?.string ?? "") else {
            throw .unknown("There is no such person.")
        }
        var decision = Decision(person: person)
        decision.givenName = body["given_name"]?.string ?? decision.givenName
        decision.familyName = body["family_name"]?.string ?? decision.familyName
        decision.sharesAddress = body["share_email"]?.bool ?? decision.sharesAddress
        guard let signIn = world.signIn(request, person: person, decision: decision, at: moment) else {
            throw .invalid("There is no key to sign with.")
        }
        return Plan(request: request, signIn: signIn)
    }

    /// From `authorize_url`, the address to which the relying party sent the browser, or from single members.
    private func authorizeFields(_ body: JSON) throws(ControlError) -> FormFields {
        if let url = body["authorize_url"]?.string {
            let query = url.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
            return FormFields(parsing: query, plusIsSpace: false)
        }
        let client = change { world, _ in
            body["client_id"]?.string.map { id in world.client(id) } ?? world.clients.first
        }
        guard let client else { throw .unknown("There is no such client.") }
        var pairs: [(name: String, value: String)] = [("client_id", client.id)]
        let defaults = [
            ("redirect_uri", client.redirectURIs.first ?? ""), ("response_type", "code id_token"),
            ("response_mode", "form_post"), ("scope", "name email"), ("state", ""), ("nonce", ""),
            ("code_challenge", ""), ("code_challenge_method", ""),
        ]
        for (name, value) in defaults {
            let text = body[name]?.string ?? value
            if !text.isEmpty { pairs.append((name, text)) }
        }
        return FormFields(pairs)
    }

    /// `POST /simulator/api/mint`: any header and claims, signed with the newest key.
    func mint(_ body: JSON) throws(ControlError) -> JSON {
        guard let claims = body["claims"], claims.members != nil else { throw .invalid("claims is an object.") }
        let kid = body["kid"]?.string
        let entry = change { world, _ in
            kid.map { kid in world.keys.entries.first { $0.kid == kid } } ?? world.keys.signing
        }
        guard let entry else { throw .unknown("There is no such key.") }
        var header: JSON = ["kid": .string(entry.kid), "alg": "RS256"]
        header.merge(body["header"]?.members ?? [])
        return ["token": .string(CompactToken.signed(header: header, claims: claims, key: entry.key))]
    }

    /// `PUT /simulator/api/keys`: how the set is published.
    func setKeys(_ body: JSON) throws(ControlError) -> JSON {
        try change { world, _ throws(ControlError) in
            for member in body.members ?? [] {
                switch member.name {
                case "mode": world.keys.mode = try member.requireCase()
                case "foreign":
                    guard let keys = member.value.array else { throw .invalid("foreign is a list of JWKs.") }
                    world.keys.foreign = keys
                default: throw .invalid("Keys have no member \"\(member.name)\".")
                }
            }
            return world.keys.json
        }
    }

    func changeKeys(_ action: String, _ body: JSON) throws(ControlError) -> JSON {
        switch action {
        case "rotate":
            guard let key = RSASigningKey() else { throw .invalid("OpenSSL made no key.") }
            let entry = KeySet.Entry(kid: KeySet.makeKid(randomness), key: key)
            return change { world, _ in
                world.keys.rotate(to: entry)
                if body["dropOld"]?.bool == true { world.keys.dropOld() }
                return world.keys.json
            }
        default: throw .unknown("Keys can be rotated, not \(action).")
        }
    }
}
