import Coding

/// Checks a client secret as Apple does (Creating a client secret; TN3107).
enum ClientSecret {
    /// The longest allowed lifetime, in seconds: six months.
    static let maximumLifetime: Int64 = 15_777_000
    /// How far ahead of ours a relying party's clock may be, in seconds.
    static let clockSkew: Int64 = 60

    static func refusal(
        of secret: String, clientID: String, team: SimulatorConfiguration.Team, audiences: [String], now: Int64
    ) -> String? {
        let parts = secret.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(String(parts[0])).flatMap(JSON.init(parsing:)),
            let claims = Base64URL.decode(String(parts[1])).flatMap(JSON.init(parsing:)),
            let signature = Base64URL.decode(String(parts[2]))
        else { return "client_secret is not a compact JWT" }

        guard header["alg"]?.stringValue == "ES256" else { return "client_secret: alg is not ES256" }
        guard let kid = header["kid"]?.stringValue, let key = team.keys[kid] else {
            return "client_secret: kid \(header["kid"]?.text ?? "(none)") is not a key of team \(team.id)"
        }
        guard signature.count == 64 else {
            return "client_secret: the signature has \(signature.count) bytes; raw R‖S has 64 (DER is not accepted)"
        }
        guard key.verifies(signature: signature, message: Array("\(parts[0]).\(parts[1])".utf8)) else {
            return "client_secret: the signature does not fit key \(kid)"
        }
        return refusal(ofClaims: claims, clientID: clientID, team: team.id, audiences: audiences, now: now)
    }

    private static func refusal(
        ofClaims claims: JSON, clientID: String, team: String, audiences: [String], now: Int64
    ) -> String? {
        guard claims["iss"]?.stringValue == team else { return "client_secret: iss is not the Team ID \(team)" }
        guard claims["sub"]?.stringValue == clientID else {
            return "client_secret: sub is not the client_id \(clientID)"
        }
        guard let audience = claims["aud"]?.stringValue, audiences.contains(audience) else {
            return "client_secret: aud is not \(audiences[0])"
        }
        guard let issued = claims["iat"]?.integer else { return "client_secret: iat is missing" }
        guard issued <= now + clockSkew else { return "client_secret: iat is \(issued - now) s in the future" }
        guard let expires = claims["exp"]?.integer else { return "client_secret: exp is missing" }
        guard expires > now else { return "client_secret: expired \(now - expires) s ago" }
        guard expires <= now + maximumLifetime else {
            return "client_secret: exp is \(expires - now) s ahead; at most \(maximumLifetime)"
        }
        return nil
    }
}
