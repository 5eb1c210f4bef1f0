import Coding

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
            "refresh_token": .string(token),
            "client_id": .string(client.id),
        ]
    }
}
