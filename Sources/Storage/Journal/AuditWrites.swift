package import Coding
import Crypto
package import RelyingParty

/// By what an audit line finds the person it is about: HMAC-SHA-256 of the user id, cut to 16 bytes, under a key that is
/// derived from the sealing key for this alone. The ids in use do not unlock it, nor does the database without the key.
struct AuditSubjects: Sendable {
    private static let purpose = SealingPurpose.other("audit-subject")
    private static let count = 16

    let keyring: SealingKeyring

    /// Under the current key: what is written.
    func current(_ user: UserID) -> [UInt8] {
        Array(keyring.keyedHash(of: Array(user.rawValue.utf8), purpose: Self.purpose).prefix(Self.count))
    }

    /// Under each key: what may have been written.
    func all(_ user: UserID) -> [[UInt8]] {
        keyring.keyedHashes(of: Array(user.rawValue.utf8), purpose: Self.purpose).map { Array($0.prefix(Self.count)) }
    }
}

// An audit line is written in the transaction of what it tells.
extension Transaction {
    func audit(
        _ kind: AuditEntry.Kind, user: UserID? = nil, reason: String? = nil, object: String? = nil
    ) throws {
        var (apiKey, network, account): (APIKeyID?, String?, String?)
        switch actor {
        case .application(let key): apiKey = key
        case .visitor(let from): network = from
        case .operator: account = context.account
        case .apple, .server: break
        }
        try run(
            """
            INSERT INTO audit (time, type, actor, subject, reason, object, api_key, network, account)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                now, kind, actor.kind, user.map(context.auditSubjects.current), reason, object, apiKey, network,
                account,
            ])
    }

    /// The line of a journal's entry, where that tells of something that matters for security.
    func audit(_ kind: JournalEntry.Kind, user: UserID, cause: SessionEndCause?, fields: [String]) throws {
        switch kind {
        case .userCreated: try audit(.userCreated, user: user)
        case .sessionCreated: try audit(.signIn, user: user)
        // Whose time is over, and who signs in anew, took nothing from anybody.
        case .sessionEnded where cause == .expired || cause == .replaced: return
        case .sessionEnded: try audit(.sessionEnded, user: user, reason: cause?.rawValue)
        case .consentRevoked: try audit(.consentRevoked, user: user)
        case .accountDeleted: try audit(.userDeleted, user: user, reason: cause?.rawValue)
        case .userTransferred: try audit(.userTransferred, user: user)
        case .accountLinked: try audit(.userLinked, user: user)
        case .accountUpgraded: try audit(.userUpgraded, user: user)
        case .userUpdated:
            // What a person may be and may open. Their state has a line of its own, and their name is no matter of security.
            let changed = fields.filter { ["groups", "externalID", "identities", "credentialState"].contains($0) }
            guard !changed.isEmpty else { return }
            try audit(.userChanged, user: user, object: changed.joined(separator: ","))
        case .emailDisabled, .emailEnabled: return
        }
    }

    /// The line of a change of state.
    func audit(_ before: User.State, to after: User.State, of user: UserID, reason: String?) throws {
        switch (before, after) {
        case _ where before == after: return
        case (_, .disabled): try audit(.userDisabled, user: user, reason: reason)
        case (.pending, .active): try audit(.userApproved, user: user, reason: reason)
        case (.disabled, .active): try audit(.userEnabled, user: user, reason: reason)
        case (_, .active), (_, .pending): try audit(.userChanged, user: user, object: "state")
        }
    }
}

extension Database {
    /// Adds a line by the task's actor when something is not as it was at the last call, of this process or of one before.
    /// The first call ever adds none: there was nothing to change from.
    /// - Parameters:
    ///   - kind: what changed; there is one state of each.
    ///   - state: what it is now. Nothing secret: it is kept as it is given.
    package func recordChange(
        _ kind: AuditEntry.Kind, to state: [UInt8], object: String?, at now: Timestamp
    ) async throws(StoreError) {
        try await write(at: now) { transaction in
            let key = "audited-\(kind.rawValue)"
            let before = try transaction.stored(key)
            guard before != state else { return }
            try transaction.store(key, state)
            if before != nil { try transaction.audit(kind, object: object) }
        }
    }
}

extension Database: AuditLog {
    package func record(
        _ kind: AuditEntry.Kind, user: UserID?, object: String?, at now: Timestamp
    ) async throws(StoreError) {
        try await write(at: now) { transaction in
            try transaction.audit(kind, user: user, object: object)
        }
    }
}
