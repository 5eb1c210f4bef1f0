package import Accounts
package import Coding
package import Crypto
import Logging
package import Storage
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

    /// A key to sign with for one client, and the secret it signed before.
    private typealias Choice = (
        client: ClientID, role: ClientSecretKeys.Role, key: ClientSecretKey, generation: UInt64, kept: ClientSecret?
    )

    /// When Apple last accepted and last refused a client with a key, since the start or the last change of keys.
    package struct Experience: Hashable, Sendable {
        package let client: ClientID
        package let keyID: String
        package var acceptedAt: Timestamp?
        package var refusedAt: Timestamp?
    }

    private struct State {
        var keys: ClientSecretKeys
        var experiences: [Experience] = []
        var generation: UInt64 = 0
        /// The key that signs for a client, if not the current one.
        var working: [ClientID: ClientSecretKeys.Role] = [:]
        var minted: [ClientID: [ClientSecretKeys.Role: ClientSecret]] = [:]

        func role(for client: ClientID) -> ClientSecretKeys.Role { working[client] ?? .current }

        func choice(for client: ClientID) -> Choice {
            choice(for: client, role(for: client)) ?? choice(for: client, .current, keys.current)
        }

        func choice(for client: ClientID, _ role: ClientSecretKeys.Role) -> Choice? {
            keys[role].map { choice(for: client, role, $0) }
        }

        private func choice(for client: ClientID, _ role: ClientSecretKeys.Role, _ key: ClientSecretKey) -> Choice {
            (client, role, key, generation, minted[client]?[role])
        }
    }

    private let configuration: AppleConfiguration
    private let runtime: Runtime
    private let state: Mutex<State>

    package init(_ configuration: AppleConfiguration, _ runtime: Runtime) {
        self.configuration = configuration
        self.runtime = runtime
        state = Mutex(State(keys: configuration.signingKeys))
    }

    package var keys: ClientSecretKeys { state.withLock(\.keys) }

    /// Signs with these keys from now on, and forgets earlier secrets and which key works. False if they already sign.
    @discardableResult
    package func replaceKeys(_ keys: ClientSecretKeys) -> Bool {
        state.withLock { state in
            guard state.keys.fingerprint != keys.fingerprint else { return false }
            state = State(keys: keys, generation: state.generation + 1)
            return true
        }
    }

    /// The secret of one client, signed by the key that works for it. No peer's input can make this fail.
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
        runtime.logger.warning(
            "Apple rejected one client key and accepted the other",
            metadata: [
                "client": .string(accepted.client.rawValue), "refused": .string(ids.refused),
                "works": .string(ids.works),
            ])
    }

    package var experiences: [Experience] { state.withLock(\.experiences) }

    /// Remembers how Apple took a secret.
    func record(_ secret: ClientSecret, isAccepted: Bool) {
        let now = runtime.clock.now()
        state.withLock { state in
            guard state.generation == secret.generation, let keyID = state.keys[secret.role]?.id else { return }
            let known = state.experiences.firstIndex { $0.client == secret.client && $0.keyID == keyID }
            let index = known ?? state.experiences.endIndex
            if known == nil { state.experiences.append(Experience(client: secret.client, keyID: keyID)) }
            if isAccepted {
                state.experiences[index].acceptedAt = now
            } else {
                state.experiences[index].refusedAt = now
            }
        }
    }

    private func secret(_ choice: Choice) throws(KeyError) -> ClientSecret {
        let now = runtime.clock.now()
        if let kept = choice.kept, kept.issuedAt <= now, now < kept.issuedAt.adding(seconds: Self.useTime) {
            return kept
        }
        let secret = ClientSecret(
            compactJWT: try sign(for: choice.client, key: choice.key, at: now), client: choice.client,
            role: choice.role, generation: choice.generation, issuedAt: now)
        state.withLock { state in
            // Do not keep what a key signed that has been replaced in the meantime.
            if state.generation == choice.generation { state.minted[choice.client, default: [:]][choice.role] = secret }
        }
        return secret
    }

    private func sign(for client: ClientID, key: ClientSecretKey, at now: Timestamp) throws(KeyError) -> String {
        let issued = now.seconds
        let claims = JSONObject([
            ("iss", .string(configuration.team.rawValue)),
            ("iat", .number(JSONNumber(issued))), ("exp", .number(JSONNumber(issued + Self.lifetime))),
            // Never empty: AppleConfiguration refuses that.
            ("aud", .string(configuration.issuers[0])),
            ("sub", .string(client.rawValue)),
        ])
        return try SignedJWT.sign(header: [("kid", .string(key.id))], claims: claims, key: .es256(key.key))
    }
}

package struct ClientSecretKey: Sendable {
    package let id: String
    let key: P256PrivateKey

    package init(id: String, key: P256PrivateKey) {
        self.id = id
        self.key = key
    }

    package init(_ settings: AppleSettings.Key) throws(KeyError) {
        self.init(id: settings.id, key: try P256PrivateKey(pem: settings.pem.reveal()))
    }

    package func holdsSameKey(as other: ClientSecretKey) -> Bool {
        guard let ours = key.publicKey.coordinates, let theirs = other.key.publicKey.coordinates else { return false }
        return ours == theirs
    }
}

/// The keys registered at Apple: one, or two during a rotation. Apple allows two at a time.
package struct ClientSecretKeys: Sendable {
    package enum Role: Hashable, Sendable {
        case current, next
    }

    package var current: ClientSecretKey
    package var next: ClientSecretKey?

    package init(current: ClientSecretKey, next: ClientSecretKey? = nil) {
        self.current = current
        self.next = next
    }

    var all: [ClientSecretKey] { [current, next].compactMap(\.self) }

    /// Identifies the keys: a digest of their IDs and public keys.
    package var fingerprint: Digest256 {
        let parts = all.map { key in
            let coordinates = key.key.publicKey.coordinates
            return "\(key.id) \(Hexadecimal.encode((coordinates?.x ?? []) + (coordinates?.y ?? [])))"
        }
        return SHA256.hash(utf8: parts.joined(separator: "\n"))
    }

    subscript(role: Role) -> ClientSecretKey? {
        switch role {
        case .current: current
        case .next: next
        }
    }
}

/// A signed client secret, ready for a form. Prints `<redacted>`.
package struct ClientSecret: Redacted {
    fileprivate let compactJWT: String
    /// The client and key, so that `ClientSecretMint` can record how Apple answered it.
    let client: ClientID
    let role: ClientSecretKeys.Role
    /// Of the mint's keys; changes when a key is replaced.
    let generation: UInt64
    fileprivate let issuedAt: Timestamp

    /// The compact JWT; only for the body of a request to Apple.
    package func reveal() -> String { compactJWT }
}
