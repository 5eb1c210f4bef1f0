import Coding

/// How identity tokens differ from valid ones, and which of Apple's variants they show.
struct TokenQuirks: Sendable {
    enum Channel: String, Sendable { case authorize, token, both }
    enum Flags: String, Sendable { case boolean, string }
    enum PrivateFlag: String, Sendable { case whenTrue, always, never }
    enum Address: String, Sendable { case present, absent, empty }
    /// A defect of an otherwise valid token.
    enum Flaw: String, Sendable, CaseIterable {
        case iss, aud, sub, exp, iat, nonce, noNonce, cHash, noCHash, atHash, noATHash, signature, kid, noKid, algNone
    }

    /// Which tokens `flaws`, `claims` and `header` apply to: the one with the code, the token endpoint's, or both.
    var channel = Channel.both
    /// `email_verified` and `is_private_email`: booleans today, strings until about February 2024.
    var flags = Flags.boolean
    var isPrivateEmail = PrivateFlag.whenTrue
    var email = Address.present
    /// `exp` − `iat`, in seconds.
    var lifetime: Int64 = 86_400
    var flaws: Set<Flaw> = []
    /// Claims and header members set last; null removes one.
    var claims = JSONObject()
    var header = JSONObject()
    /// How many more tokens have flaws, claims and header; nil: all.
    var remaining: Int?

    /// The quirks of the next token; counts it down.
    mutating func consume(_ channel: Channel) -> TokenQuirks {
        var sound = self
        sound.flaws = []
        sound.claims = [:]
        sound.header = [:]
        sound.remaining = nil
        guard self.channel == .both || self.channel == channel else { return sound }
        let taken = self
        if let remaining, !flaws.isEmpty || !claims.isEmpty || !header.isEmpty {
            if remaining > 1 { self.remaining = remaining - 1 } else { self = sound }
        }
        return taken
    }

    mutating func update(_ json: JSON) throws(ControlError) {
        for member in json.members {
            switch member.name {
            case "on": channel = try member.requireCase()
            case "flags": flags = try member.requireCase()
            case "isPrivateEmail": isPrivateEmail = try member.requireCase()
            case "email": email = try member.requireCase()
            case "lifetime": lifetime = try member.requireInteger(-1_000_000_000...1_000_000_000)
            case "wrong":
                guard let names = member.value.arrayValue else { throw .invalid("wrong must be a list of names.") }
                flaws = []
                for name in names {
                    guard let flaw = name.stringValue.flatMap(Flaw.init) else {
                        throw .invalid("wrong may contain \(Flaw.allCases.map(\.rawValue).joined(separator: ", ")).")
                    }
                    flaws.insert(flaw)
                }
            case "claims": claims = try member.requireObject()
            case "header": header = try member.requireObject()
            case "remaining": remaining = Int(try member.requireInteger(1...1_000_000))
            default: throw .invalid("Token settings have no member \"\(member.name)\".")
            }
        }
    }

    var json: JSON {
        [
            "on": .string(channel.rawValue), "flags": .string(flags.rawValue),
            "isPrivateEmail": .string(isPrivateEmail.rawValue), "email": .string(email.rawValue),
            "lifetime": .integer(lifetime),
            "wrong": .array(flaws.map(\.rawValue).sorted().map(JSON.string)),
            "claims": .object(claims), "header": .object(header), "remaining": .count(remaining),
        ]
    }
}
