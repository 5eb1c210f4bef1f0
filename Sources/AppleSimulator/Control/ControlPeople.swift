import Coding

/// People, clients, consents and transfers through the control interface.
extension Simulator {
    func addPerson(_ body: JSON) throws(ControlError) -> JSON {
        guard let id = body["id"]?.stringValue, !id.isEmpty else { throw .invalid("id is missing.") }
        return try change { world, _ throws(ControlError) in
            var person = world.person(id) ?? Person(id: id, givenName: id, familyName: "", note: "Added by hand")
            try person.update(body)
            world.put(person)
            return world.json(of: person)
        }
    }

    /// Registers a Services ID or an App ID, and its team with a key if the team is new.
    func addClient(_ body: JSON) throws(ControlError) -> JSON {
        guard let id = body["id"]?.stringValue, let team = body["team"]?.stringValue else {
            throw .invalid("id and team are missing.")
        }
        let uris = (body["redirectURIs"]?.arrayValue ?? []).compactMap(\.stringValue)
        let client = SimulatorConfiguration.Client(id: id, team: team, redirectURIs: uris)
        var keys: [String: ClientKey] = [:]
        if let keyID = body["keyID"]?.stringValue {
            guard let key = body["key"]?.stringValue.flatMap({ ClientKey(pem: $0) }) else {
                throw .invalid("key is not a P-256 key in PEM.")
            }
            keys[keyID] = key
        }
        return try change { world, _ throws(ControlError) in
            if let index = world.teams.firstIndex(where: { $0.id == team }) {
                world.teams[index].keys.merge(keys) { $1 }
            } else {
                guard !keys.isEmpty else { throw .invalid("A new team needs keyID and key.") }
                world.teams.append(SimulatorConfiguration.Team(id: team, keys: keys))
            }
            world.clients.removeAll { $0.id == id }
            world.clients.append(client)
            return client.json
        }
    }

    /// The team revokes a key in Apple's developer portal: what it signed is refused from now on.
    func revokeClientKey(_ id: String) throws(ControlError) -> JSON {
        try change { world, _ throws(ControlError) in
            guard let index = world.teams.firstIndex(where: { $0.keys[id] != nil }) else {
                throw .unknown("There is no key \(id).")
            }
            world.teams[index].keys[id] = nil
            return world.teams[index].json
        }
    }

    /// The person stops using Sign in with Apple for an app in the settings of their Apple Account.
    func revokeConsent(_ body: JSON) async throws(ControlError) -> JSON {
        let key = try consentKey(body)
        let existed = change { world, moment in
            let existed = world.consents[key] != nil
            world.revokeConsent(key)
            world.journal.record("\(key.person) revoked \(key.team)", endpoint: "consents", at: moment)
            return existed
        }
        guard body["notify"]?.boolValue == true else { return ["revoked": .bool(existed)] }
        var answer = try await notify(["type": "consent-revoked", "person": .string(key.person)])
        answer["revoked"] = .bool(existed)
        return answer
    }

    /// The person sets a new password, after which no refresh token works any more.
    func changePassword(_ body: JSON) throws(ControlError) -> JSON {
        for member in body.members where member.name != "person" {
            throw .invalid("A new password has no member \"\(member.name)\".")
        }
        let id = body["person"]?.stringValue ?? ""
        return try change { world, moment throws(ControlError) in
            guard world.person(id) != nil else { throw .unknown("There is no such person.") }
            let count = world.changePassword(of: id)
            world.journal.record("\(id) has a new password", endpoint: "passwords", at: moment)
            return ["refreshTokens": .count(count)]
        }
    }

    func beginTransfer(_ body: JSON) throws(ControlError) -> JSON {
        let key = try consentKey(body)
        guard let recipient = body["to"]?.stringValue else {
            throw .invalid("to, the recipient's Team ID, is missing.")
        }
        return change { world, moment in
            let transfer = Transfer(
                person: key.person, sender: key.team, recipient: recipient, startedAt: moment.milliseconds)
            return ["transfer_sub": .string(world.begin(transfer))]
        }
    }

    private func consentKey(_ body: JSON) throws(ControlError) -> Consent.Key {
        let id = body["person"]?.stringValue ?? ""
        let key = change { world, _ in
            world.person(id).flatMap { person in
                (body["team"]?.stringValue ?? world.teams.first?.id).map { Consent.Key(person: person.id, team: $0) }
            }
        }
        guard let key else { throw .unknown("There is no such person.") }
        return key
    }
}

extension Person {
    fileprivate mutating func update(_ body: JSON) throws(ControlError) {
        for member in body.members {
            switch member.name {
            case "id": break
            case "givenName": givenName = try member.requireString()
            case "familyName": familyName = try member.requireString()
            case "email": email = member.value == .null ? nil : try member.requireString()
            case "emailVerified": isEmailVerified = try member.requireBool()
            case "hidesEmail": hidesEmail = try member.requireBool()
            case "organizationID": organizationID = member.value == .null ? nil : try member.requireString()
            case "realUserStatus": realUserStatus = try member.requireInteger(0...2)
            case "note": note = try member.requireString()
            default: throw .invalid("A person has no member \"\(member.name)\".")
            }
        }
    }
}

/// Many people at once, for testing an import or a large number of users.
extension Simulator {
    private static let largestCrowd: Int64 = 10_000

    /// `POST /simulator/api/crowd`: people who signed in to a client earlier, each with one of its refresh tokens.
    func addCrowd(_ body: JSON) throws(ControlError) -> JSON {
        guard let member = body.members.first(where: { $0.name == "count" }) else {
            throw .invalid("count is missing.")
        }
        let count = try member.requireInteger(1...Self.largestCrowd)
        return try change { world, moment throws(ControlError) in
            let id = body["client_id"]?.stringValue
            guard let client = id.map({ world.client($0) }) ?? world.clients.first else {
                throw .unknown("There is no such client.")
            }
            let items = (0..<count).map { _ in world.addMember(of: client, at: moment) }
            return ["items": .array(items)]
        }
    }
}

extension World {
    fileprivate mutating func addMember(of client: SimulatorConfiguration.Client, at moment: Moment) -> JSON {
        let number = people.count + 1
        let person = Person(
            id: "crowd-\(number)", givenName: "Member", familyName: String(number),
            email: "member\(number)@example.com", note: "One of many")
        put(person)
        consents[Consent.Key(person: person.id, team: client.team)] = Consent(
            address: .real, givenName: person.givenName, familyName: person.familyName, since: moment.milliseconds)
        let token = moment.makeToken("r")
        tokens[token] = StoredToken(
            kind: .refresh, team: client.team,
            grant: Grant(
                person: person.id, client: client.id, team: client.team, redirectURI: client.redirectURIs.first,
                scopes: ["name", "email"], authenticatedAt: moment.seconds, isNative: false, isFirst: true),
            issuedAt: moment.milliseconds)
        return [
            "id": .string(person.id), "sub": .string(person.subject(team: client.team)),
            "refresh_token": .string(token), "client_id": .string(client.id),
        ]
    }
}
