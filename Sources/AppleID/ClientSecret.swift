import Coding
package import Crypto
package import RelyingParty
import Synchronization

/// The key of the .p8 file with its key ID.
package struct ClientSecretKey: Sendable {
    package let id: String
    let key: P256PrivateKey

    package init(id: String, key: P256PrivateKey) {
        self.id = id
        self.key = key
    }
}

/// A signed client secret, ready for a form. Prints `<redacted>`.
package struct ClientSecret: Redacted {
    private let compactJWT: String

    fileprivate init(_ compactJWT: String) { self.compactJWT = compactJWT }

    /// The compact JWT; only for the body of a request to Apple.
    package func reveal() -> String { compactJWT }
}

/// Mints the ES256 client secrets Apple authenticates us by (TN3107), and keeps each for a while.
///
/// One per client ID. A kept one is used for five minutes and valid for ten, so that it never runs out on its way. A
/// clock that steps back before its `iat` or forward past its use makes a new one, as does a new key.
package final class ClientSecretMint: Sendable {
    /// How long one secret is used, in seconds.
    package static let useTime: Int64 = 300
    /// `exp` − `iat`, in seconds. Apple allows 15,777,000.
    package static let lifetime: Int64 = 600

    private struct Minted {
        var secret: ClientSecret
        var issuedAt: Timestamp
    }

    private struct State {
        var key: ClientSecretKey
        var minted: [ClientID: Minted] = [:]
    }

    private let team: TeamID
    private let audience: String
    private let clock: any WallClock
    private let state: Mutex<State>

    /// - Parameter audience: Apple's issuer.
    package init(team: TeamID, audience: String, key: ClientSecretKey, clock: any WallClock) {
        self.team = team
        self.audience = audience
        self.clock = clock
        self.state = Mutex(State(key: key))
    }

    /// Signs with this key from now on; nothing minted before is used again.
    package func replaceKey(_ key: ClientSecretKey) {
        state.withLock { $0 = State(key: key) }
    }

    /// The secret of one client.
    /// - Throws: when the key cannot sign, which no input of a peer can cause.
    package func secret(for client: ClientID) throws(KeyError) -> ClientSecret {
        let now = clock.now()
        let (kept, key) = state.withLock { ($0.minted[client], $0.key) }
        if let kept, kept.issuedAt <= now, now < kept.issuedAt.adding(seconds: Self.useTime) { return kept.secret }
        let secret = try mint(for: client, key: key, at: now)
        state.withLock { state in
            // A key replaced meanwhile must not be outlived by what it signed.
            if state.key.id == key.id { state.minted[client] = Minted(secret: secret, issuedAt: now) }
        }
        return secret
    }

    private func mint(for client: ClientID, key: ClientSecretKey, at now: Timestamp) throws(KeyError) -> ClientSecret {
        let issued = now.seconds
        let claims = JSONObject([
            ("iss", .string(team.rawValue)),
            ("iat", .number(JSONNumber(issued))),
            ("exp", .number(JSONNumber(issued + Self.lifetime))),
            ("aud", .string(audience)),
            ("sub", .string(client.rawValue)),
        ])
        return ClientSecret(try ES256JWT.sign(header: [("kid", .string(key.id))], claims: claims, key: key.key))
    }
}
