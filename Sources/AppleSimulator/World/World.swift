import Coding

/// All mutable state of the simulator; `Simulator` keeps it behind one lock.
struct World: Sendable {
    var teams: [SimulatorConfiguration.Team]
    var clients: [SimulatorConfiguration.Client]
    var notificationURL: String?
    private(set) var people = Person.cast
    private var positions = Dictionary(uniqueKeysWithValues: Person.cast.enumerated().map { ($1.id, $0) })
    var consents: [Consent.Key: Consent] = [:]
    var pages: [String: AuthorizePage] = [:]
    var pageOrder: [String] = []
    var codes: [String: AuthorizationCode] = [:]
    var tokens: [String: StoredToken] = [:]
    var transfers: [String: Transfer] = [:]
    var keys: KeySet
    var faults: [Endpoint: Fault] = [:]
    var quirks = TokenQuirks()
    var behaviour = Behaviour()
    /// Added to the real clock, in milliseconds.
    var clockOffset: Int64 = 0
    var counters = Counters()
    var journal = Journal()
    var notifications: [SentNotification] = []
    private var codeSweep = 20_000
    private var tokenSweep = 100_000

    init(configuration: SimulatorConfiguration, keys: KeySet) {
        teams = configuration.teams
        clients = configuration.clients
        notificationURL = configuration.notificationURL
        self.keys = keys
    }

    func person(_ id: String) -> Person? { positions[id].map { people[$0] } }

    mutating func put(_ person: Person) {
        if let position = positions[person.id] {
            people[position] = person
        } else {
            positions[person.id] = people.count
            people.append(person)
        }
    }

    func client(_ id: String) -> SimulatorConfiguration.Client? { clients.first { $0.id == id } }
    func team(_ id: String) -> SimulatorConfiguration.Team? { teams.first { $0.id == id } }

    /// Ends the consent of `person` for `team`, its codes and its tokens. The next sign-in is a first one again.
    mutating func revokeConsent(_ key: Consent.Key) {
        consents[key] = nil
        for (code, entry) in codes where entry.grant.person == key.person && entry.grant.team == key.team {
            codes[code]?.isRevoked = true
        }
        for (token, entry) in tokens where entry.grant?.person == key.person && entry.grant?.team == key.team {
            tokens[token]?.isRevoked = true
        }
    }

    /// The person changed their password: the refresh tokens of every team die, the consents stay. Returns how many.
    mutating func changePassword(of person: String) -> Int {
        let dying = tokens.filter {
            $0.value.kind == .refresh && !$0.value.isRevoked && $0.value.grant?.person == person
        }
        for token in dying.keys { tokens[token]?.isRevoked = true }
        return dying.count
    }

    /// Keeps data of a long run from growing without limit.
    ///
    /// A sweep that frees little doubles the size at which the next one runs, so that sweeps stay cheap under load.
    mutating func forgetOld(now: Int64) {
        if codes.count > codeSweep {
            codes = codes.filter { now - $0.value.issuedAt < 2 * AuthorizationCode.lifetime }
            codeSweep = max(20_000, 2 * codes.count)
        }
        if tokens.count > tokenSweep {
            tokens = tokens.filter { _, token in
                token.kind == .refresh || now - token.issuedAt < StoredToken.accessLifetime * 1000
            }
            tokenSweep = max(100_000, 2 * tokens.count)
        }
        if pageOrder.count > 2000 {
            for id in pageOrder.prefix(1000) { pages[id] = nil }
            pageOrder.removeFirst(1000)
        }
        if notifications.count > 2000 { notifications.removeFirst(1000) }
    }
}

/// Where Apple's behaviour is unknown, or varies.
struct Behaviour: Sendable {
    /// The answer for a revoked refresh token: `invalid_grant`, or `invalid_request`, which was reported too.
    var errorAfterRevocation = "invalid_grant"
    var notifiesOnRevoke = false
    var describesErrors = true
    /// `iss` of every token from now on; nil: the initial one, which is always a valid `aud` of a client secret.
    var issuer: String?
}

struct Counters: Sendable {
    private(set) var requests: [Endpoint: Int] = [:]
    private(set) var statuses: [Endpoint: [Int: Int]] = [:]

    mutating func count(_ endpoint: Endpoint) { requests[endpoint, default: 0] += 1 }
    mutating func count(_ endpoint: Endpoint, status: Int) { statuses[endpoint, default: [:]][status, default: 0] += 1 }

    var json: JSON {
        var json: JSON = [:]
        for endpoint in Endpoint.allCases {
            var answers: JSON = [:]
            for (status, count) in (statuses[endpoint] ?? [:]).sorted(by: { $0.key < $1.key }) {
                answers[String(status)] = .count(count)
            }
            json[endpoint.rawValue] = ["requests": .count(requests[endpoint] ?? 0), "statuses": answers]
        }
        return json
    }
}

/// Recent events, with the reasons that Apple never gives.
struct Journal: Sendable {
    private var entries: [JSON] = []
    private var last: Int64 = 0

    var json: JSON { .array(entries) }

    mutating func record(_ text: String, endpoint: String, at moment: Moment) {
        last += 1
        entries.append([
            "number": .integer(last), "time": .integer(moment.milliseconds), "endpoint": .string(endpoint),
            "text": .string(text),
        ])
        if entries.count > 200 { entries.removeFirst(entries.count - 200) }
    }
}

/// An operation's external input: the time by the simulator's own clock, and randomness.
struct Moment: Sendable {
    /// Milliseconds since 1970, including the offset.
    var milliseconds: Int64
    var randomBytes: @Sendable (Int) -> [UInt8]
    var issuer: String
    /// Accepted `aud` of a client secret.
    var audiences: [String]

    var seconds: Int64 { milliseconds / 1000 }

    /// Opaque, and shaped like Apple's: a letter for the kind, followed by enough randomness.
    func makeToken(_ letter: String) -> String {
        letter + Hexadecimal.encode(randomBytes(16)) + ".0.sim." + Base64URL.encode(randomBytes(16))
    }
}
