import Coding
import Synchronization

extension Simulator {
    func state() -> JSON {
        let hanging = Int64(held.withLock(\.count))
        return change { world, moment in
            [
                "issuer": .string(moment.issuer),
                "now": .integer(moment.milliseconds), "clockOffset": .integer(world.clockOffset / 1000),
                "notificationURL": .text(world.notificationURL),
                "clients": .array(world.clients.map(\.json)),
                "teams": .array(world.teams.map(\.json)),
                "people": .array(world.people.map { world.json(of: $0) }),
                "keys": world.keys.json, "faults": world.faults.json, "hanging": .integer(hanging),
                "tokens": world.quirks.json, "behaviour": world.behaviour.json,
                "notifications": .array(world.notifications.suffix(20).map(\.json)),
                "counters": world.counters.json, "journal": world.journal.json,
            ]
        }
    }
}

extension World {
    func json(of person: Person) -> JSON {
        let teams: [JSON] = teams.map { team in
            let consent = consents[Consent.Key(person: person.id, team: team.id)]
            var json: JSON = [
                "team": .string(team.id), "sub": .string(person.subject(team: team.id)),
                "consented": .bool(consent != nil),
            ]
            if let consent {
                json["address"] = .string(consent.address.rawValue)
                json["email"] = .text(person.address(consent, team: team.id))
                json["forwarding"] = .bool(consent.isForwarding)
                json["since"] = .integer(consent.since)
                let live = tokens.values.filter {
                    $0.kind == .refresh && !$0.isRevoked && $0.grant?.person == person.id && $0.team == team.id
                }
                json["refreshTokens"] = .count(live.count)
            }
            return json
        }
        return [
            "id": .string(person.id), "givenName": .string(person.givenName), "familyName": .string(person.familyName),
            "email": .text(person.email), "emailVerified": .bool(person.isEmailVerified),
            "hidesEmail": .bool(person.hidesEmail), "organizationID": .text(person.organizationID),
            "realUserStatus": .integer(person.realUserStatus), "note": .string(person.note), "teams": .array(teams),
        ]
    }
}

extension SimulatorConfiguration.Client {
    var json: JSON {
        [
            "id": .string(id), "team": .string(team), "redirectURIs": .array(redirectURIs.map(JSON.string)),
            "native": .bool(isNative),
        ]
    }
}

extension SimulatorConfiguration.Team {
    var json: JSON { ["id": .string(id), "keyIDs": .array(keys.keys.sorted().map(JSON.string))] }
}

extension KeySet {
    var json: JSON {
        [
            "mode": .string(mode.rawValue), "signing": .string(signing.kid),
            "kids": .array(entries.map { .string($0.kid) }), "foreign": .array(foreign),
            "modes": .array(Mode.allCases.map { .string($0.rawValue) }),
        ]
    }
}

extension Behaviour {
    var json: JSON {
        [
            "errorAfterRevocation": .string(errorAfterRevocation), "notifiesOnRevoke": .bool(notifiesOnRevoke),
            "describesErrors": .bool(describesErrors), "issuer": .text(issuer),
        ]
    }
}

extension SentNotification {
    var json: JSON {
        [
            "id": .string(id), "type": .string(type), "person": .text(person), "iat": .integer(issuedAt),
            "payload": .string(payload), "deliveries": .array(deliveries),
        ]
    }
}
