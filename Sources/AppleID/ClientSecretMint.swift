package import Accounts
package import Coding
package import Crypto
package import Logging
import Synchronization

/// Mints the ES256 client secrets that authenticate us to Apple (TN3107), and keeps each for a while.
///
/// One per client ID and key. Each is used for five minutes and valid for ten, so that it never expires in flight. A
/// clock that moves back before its `iat` or forward past its use makes a new one, as do new keys.
///
/// With two keys, the current one signs until Apple refuses it for a client and accepts the next one; from then on that
/// one signs for this client, until Apple refuses it in turn, or the keys are replaced.
package final class ClientSecretMint: Sendable {
    /// How long one secret is used, in seconds.
    package static let useTime: Int64 = 300
    /// `exp` − `iat`, in seconds. Apple allows 15,777,000.
    package static let lifetime: Int64 = 600

    private struct Use: Hashable {
        var client: ClientID
        var role: ClientSecretKeys.Role
    }

    private struct Minted {
        var secret: ClientSecret
        var issuedAt: Timestamp
    }

    /// A key to sign with for one client, and the secret it signed before.
    private struct Choice {
        var use: Use
        var key: ClientSecretKey
        var generation: UInt64
        var kept: Minted?
    }

    private struct State {
        var keys: ClientSecretKeys
        var generation: UInt64 = 0
        /// The key that signs for a client, where it is not the current one.
        var working: [ClientID: ClientSecretKeys.Role] = [:]
        var minted: [Use: Minted] = [:]

        func role(for client: ClientID) -> ClientSecretKeys.Role { working[client] ?? .current }

        /// The key that works.
        func choice(for client: ClientID) -> Choice {
            choice(for: client, role(for: client)) ?? choice(for: client, .current, keys.current)
        }

        func choice(for client: ClientID, _ role: ClientSecretKeys.Role) -> Choice? {
            keys[role].map { choice(for: client, role, $0) }
        }

        private func choice(for client: ClientID, _ role: ClientSecretKeys.Role, _ key: ClientSecretKey) -> Choice {
            let use = Use(client: client, role: role)
            return Choice(use: use, key: key, generation: generation, kept: minted[use])
        }
    }

    private let team: TeamID
    private let audience: String
    private let clock: any WallClock
    private let logger: Logger
    private let state: Mutex<State>

    /// - Parameter audience: Apple's issuer.
    package init(
        team: TeamID, audience: String, keys: ClientSecretKeys, clock: any WallClock, logger: Logger
    ) {
        self.team = team
        self.audience = audience
        self.clock = clock
        self.logger = logger
        self.state = Mutex(State(keys: keys))
    }

    /// The keys that sign now.
    package var keys: ClientSecretKeys { state.withLock(\.keys) }

    /// Signs with these keys from now on. No earlier secret is used again, and which key works must be found out again.
    /// - Returns: false when these keys already sign; then nothing changes.
    @discardableResult
    package func replaceKeys(_ keys: ClientSecretKeys) -> Bool {
        state.withLock { state in
            guard !state.keys.isSame(as: keys) else { return false }
            state = State(keys: keys, generation: state.generation + 1)
            return true
        }
    }

    /// The secret of one client, signed by the key that works for it.
    /// - Throws: when the key cannot sign, which no peer's input can cause.
    package func secret(for client: ClientID) throws(KeyError) -> ClientSecret {
        try secret(state.withLock { $0.choice(for: client) })
    }

    /// The secret to try once more after `invalid_client`; nil when there is no other key.
    func secret(after refused: ClientSecret) throws(KeyError) -> ClientSecret? {
        let choice = state.withLock { state -> Choice? in
            // The keys were replaced during the request, so the new ones get their try.
            guard state.generation == refused.generation else { return state.choice(for: refused.client) }
            return state.choice(for: refused.client, refused.role == .current ? .next : .current)
        }
        guard let choice else { return nil }
        return try secret(choice)
    }

    /// Apple accepted this secret after refusing the client's other one.
    func keep(_ accepted: ClientSecret) {
        let ids = state.withLock { state -> (works: String, refused: String)? in
            guard state.generation == accepted.generation, state.role(for: accepted.client) != accepted.role,
                let works = state.keys[accepted.role], let refused = state.keys[state.role(for: accepted.client)]
            else { return nil }
            state.working[accepted.client] = accepted.role
            return (works.id, refused.id)
        }
        guard let ids else { return }
        logger.warning(
            "Apple rejected one client key and accepted the other",
            metadata: [
                "client": .string(accepted.client.rawValue), "refused": .string(ids.refused),
                "works": .string(ids.works),
            ])
    }

    private func secret(_ choice: Choice) throws(KeyError) -> ClientSecret {
        let now = clock.now()
        if let kept = choice.kept, kept.issuedAt <= now, now < kept.issuedAt.adding(seconds: Self.useTime) {
            return kept.secret
        }
        let (client, role) = (choice.use.client, choice.use.role)
        let secret = ClientSecret(
            try sign(for: client, key: choice.key, at: now), client: client, role: role,
            generation: choice.generation)
        state.withLock { state in
            // Do not keep what a key signed that has been replaced in the meantime.
            if state.generation == choice.generation {
                state.minted[choice.use] = Minted(secret: secret, issuedAt: now)
            }
        }
        return secret
    }

    private func sign(for client: ClientID, key: ClientSecretKey, at now: Timestamp) throws(KeyError) -> String {
        let issued = now.seconds
        let claims = JSONObject([
            ("iss", .string(team.rawValue)),
            ("iat", .number(JSONNumber(issued))),
            ("exp", .number(JSONNumber(issued + Self.lifetime))),
            ("aud", .string(audience)),
            ("sub", .string(client.rawValue)),
        ])
        return try SignedJWT.sign(header: [("kid", .string(key.id))], claims: claims, key: .es256(key.key))
    }
}
