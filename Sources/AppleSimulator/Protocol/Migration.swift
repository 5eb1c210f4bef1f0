import Coding

/// Moves people from one team to another (TN3159).
extension World {
    /// `POST /auth/usermigrationinfo`: `sub` and `target` from the sender, `transfer_sub` from the recipient.
    mutating func migrate(_ fields: FormFields, bearer: String?, at moment: Moment) throws(OAuthError) -> JSON {
        guard let token = bearer.flatMap({ tokens[$0] }), token.kind == .migration,
            moment.milliseconds - token.issuedAt < StoredToken.accessLifetime * 1000
        else { throw .client("Authorization needs a Bearer token with the scope user.migration") }
        let client = try authenticate(fields, at: moment)
        guard client.team == token.team else { throw .client("the Bearer token belongs to team \(token.team)") }
        if let transferSubject = fields.text("transfer_sub") {
            return try receive(transferSubject, client: client, at: moment)
        }
        guard let subject = fields.text("sub"), let target = fields.text("target") else {
            throw .request("sub and target, or transfer_sub, are missing")
        }
        guard team(target) != nil, target != client.team else { throw .request("target \(target) is not another team") }
        // People who revoked consent cannot be transferred.
        guard let person = people.first(where: { $0.subject(team: client.team) == subject }),
            consents[Consent.Key(person: person.id, team: client.team)] != nil
        else { throw .request("sub \(subject) is unknown or revoked consent") }
        let transfer = Transfer(
            person: person.id, sender: client.team, recipient: target, startedAt: moment.milliseconds)
        return ["transfer_sub": .string(begin(transfer))]
    }

    /// The same person, sender and recipient always get the same `transfer_sub`.
    mutating func begin(_ transfer: Transfer) -> String {
        let digest = OpenSSLHash.sha256("transfer|\(transfer.person)|\(transfer.sender)|\(transfer.recipient)")
        let subject = "000999." + Hexadecimal.encode(Array(digest.prefix(16))) + ".0999"
        if transfers[subject] == nil { transfers[subject] = transfer }
        return subject
    }

    private func receive(
        _ transferSubject: String, client: SimulatorConfiguration.Client, at moment: Moment
    ) throws(OAuthError) -> JSON {
        guard let transfer = transfers[transferSubject], transfer.recipient == client.team,
            let person = person(transfer.person)
        else { throw .request("transfer_sub is unknown to team \(client.team)") }
        guard moment.milliseconds - transfer.startedAt < Transfer.lifetime else {
            throw .request("the transfer's 60 days are over")
        }
        guard let consent = consents[Consent.Key(person: transfer.person, team: transfer.sender)] else {
            throw .request("the person revoked consent")
        }
        var answer: JSON = ["sub": .string(person.subject(team: client.team))]
        if consent.address == .relay {
            answer["email"] = .string(person.relayAddress(team: client.team))
            answer["is_private_email"] = true
        }
        return answer
    }
}
