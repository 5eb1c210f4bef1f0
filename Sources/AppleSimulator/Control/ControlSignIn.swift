import Coding

/// Sign-ins, tokens and keys through the control interface.
extension Simulator {
    /// `POST /simulator/api/authorize`: a complete sign-in without a browser.
    func authorize(_ body: JSON) throws(ControlError) -> JSON {
        let fields = try authorizeFields(body)
        let (request, signIn) = try change { world, moment throws(ControlError) in
            try Self.authorize(body, fields, in: &world, at: moment)
        }
        let answer = signIn?.fields() ?? SignIn.cancelled(state: request.state)
        var json: JSON = [:]
        for field in answer { json[field.name] = .string(field.value) }
        json["redirect_uri"] = .text(request.redirectURI)
        json["response_mode"] = .string(request.responseMode.rawValue)
        json["form"] = .string(answer.encoded)
        return json
    }

    private static func authorize(
        _ body: JSON, _ fields: FormFields, in world: inout World, at moment: Moment
    ) throws(ControlError) -> (AuthorizeRequest, SignIn?) {
        let request: AuthorizeRequest
        do {
            request = try AuthorizeRequest(fields, clients: world.clients, allowsNative: true)
        } catch {
            throw .invalid("\(error.code): \(error.reason)")
        }
        guard body["decision"]?.stringValue != "cancel" else { return (request, nil) }
        guard let person = world.person(body["person"]?.stringValue ?? "") else {
            throw .unknown("There is no such person.")
        }
        var decision = Decision(person: person)
        decision.givenName = body["given_name"]?.stringValue ?? decision.givenName
        decision.familyName = body["family_name"]?.stringValue ?? decision.familyName
        decision.sharesAddress = body["share_email"]?.boolValue ?? decision.sharesAddress
        return (request, world.signIn(request, person: person, decision: decision, at: moment))
    }

    /// From `authorize_url`, the address to which the relying party sent the browser, or from single members.
    private func authorizeFields(_ body: JSON) throws(ControlError) -> FormFields {
        if let url = body["authorize_url"]?.stringValue {
            let query = url.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
            return FormFields(parsing: query, plusIsSpace: false)
        }
        let client = change { world, _ in
            body["client_id"]?.stringValue.map { id in world.client(id) } ?? world.clients.first
        }
        guard let client else { throw .unknown("There is no such client.") }
        var fields = [FormField(name: "client_id", value: client.id)]
        let defaults = [
            ("redirect_uri", client.redirectURIs.first ?? ""), ("response_type", "code id_token"),
            ("response_mode", "form_post"), ("scope", "name email"), ("state", ""), ("nonce", ""),
            ("code_challenge", ""), ("code_challenge_method", ""),
        ]
        for (name, value) in defaults {
            let text = body[name]?.stringValue ?? value
            if !text.isEmpty { fields.append(FormField(name: name, value: text)) }
        }
        return fields
    }

    /// `POST /simulator/api/mint`: any header and claims, signed with the newest key.
    func mint(_ body: JSON) throws(ControlError) -> JSON {
        guard let claims = body["claims"], claims.objectValue != nil else {
            throw .invalid("claims must be an object.")
        }
        let kid = body["kid"]?.stringValue
        let entry = change { world, _ in
            kid.map { kid in world.keys.entries.first { $0.kid == kid } } ?? world.keys.signing
        }
        guard let entry else { throw .unknown("There is no such key.") }
        return ["token": .string(entry.signed(claims, header: body["header"]?.objectValue ?? [:]))]
    }

    /// `PUT /simulator/api/keys`: how the set is published.
    func setKeys(_ body: JSON) throws(ControlError) -> JSON {
        try change { world, _ throws(ControlError) in
            for member in body.members {
                switch member.name {
                case "mode": world.keys.mode = try member.requireCase()
                case "foreign":
                    guard let keys = member.value.arrayValue else { throw .invalid("foreign must be a list of JWKs.") }
                    world.keys.foreign = keys
                default: throw .invalid("Keys have no member \"\(member.name)\".")
                }
            }
            return world.keys.json
        }
    }

    func changeKeys(_ action: String, _ body: JSON) throws(ControlError) -> JSON {
        guard action == "rotate" else { throw .unknown("Keys can be rotated, not \(action).") }
        let entry = KeySet.Entry(kid: KeySet.makeKid(randomBytes(10)), key: RSASigningKey())
        return change { world, _ in
            world.keys.rotate(to: entry)
            if body["dropOld"]?.boolValue == true { world.keys.dropOld() }
            return world.keys.json
        }
    }
}

/// What the system gives an app at a sign-in, in the terms of `ASAuthorizationAppleIDCredential`.
extension Simulator {
    /// `POST /simulator/api/native`: the person taps the button in an app and agrees.
    func authorizeNative(_ body: JSON) throws(ControlError) -> JSON {
        for member in body.members where !Self.nativeMembers.contains(member.name) {
            throw .invalid("A native sign-in has no member \"\(member.name)\".")
        }
        guard let clientID = body["client_id"]?.stringValue else {
            throw .invalid("client_id, a bundle ID, is missing.")
        }
        let isApp = change { world, _ in world.client(clientID)?.isNative == true }
        guard isApp else { throw .unknown("There is no app \(clientID).") }
        let answer = try authorize(body)
        if let error = answer["error"] { return ["error": error] }
        var json: JSON = [:]
        json["identityToken"] = answer["id_token"]
        json["authorizationCode"] = answer["code"]
        json["state"] = answer["state"]
        guard let text = answer["user"]?.stringValue, let user = JSON(parsing: Array(text.utf8)) else { return json }
        if let name = user["name"] {
            var components: JSON = [:]
            components["givenName"] = name["firstName"]
            components["familyName"] = name["lastName"]
            json["fullName"] = components
        }
        json["email"] = user["email"]
        return json
    }

    private static let nativeMembers: Set = [
        "client_id", "person", "nonce", "scope", "state", "given_name", "family_name", "share_email", "decision",
    ]
}
