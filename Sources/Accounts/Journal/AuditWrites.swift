package import Coding
import Crypto
package import Storage

/// How an audit line identifies its person: HMAC-SHA-256 of the user id, cut to 16 bytes, under a key derived from the
/// sealing key for this purpose only. Neither the user ids nor the database without the key reveal it.
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

// An audit line is written in the transaction of its event.
extension Transaction {
    func audit(
        _ kind: AuditEntry.Kind, user: UserID? = nil, reason: String? = nil, object: String? = nil
    ) throws {
        var (apiKey, network, account): (APIKeyID?, String?, String?)
        switch actor {
        case .application(let key): apiKey = key
        case .visitor(let from): network = from
        case .operator: account = context.account
        case .operatorPage(let user, let from): (account, network) = (user.rawValue, from)
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

    /// The line for a journal entry, if it matters for security.
    func audit(_ kind: JournalEntry.Kind, user: UserID, cause: SessionEndCause?, fields: [String]) throws {
        switch kind {
        case .userCreated: try audit(.userCreated, user: user)
        case .sessionCreated: try audit(.signIn, user: user)
        // A session that expired or was replaced by a new sign-in took nothing from anybody.
        case .sessionEnded where cause == .expired || cause == .replaced: return
        case .sessionEnded: try audit(.sessionEnded, user: user, reason: cause?.rawValue)
        case .consentRevoked: try audit(.consentRevoked, user: user)
        case .accountDeleted: try audit(.userDeleted, user: user, reason: cause?.rawValue)
        case .userTransferred: try audit(.userTransferred, user: user)
        case .accountLinked: try audit(.userLinked, user: user)
        case .accountUpgraded: try audit(.userUpgraded, user: user)
        case .userUpdated:
            // What a person may open. Their state has its own line, and their name does not matter for security.
            let changed = fields.filter { ["groups", "externalID", "identities", "credentialState"].contains($0) }
            guard !changed.isEmpty else { return }
            try audit(.userChanged, user: user, object: changed.joined(separator: ","))
        case .emailDisabled, .emailEnabled, .userPending: return
        }
    }

    /// The line for a change of state.
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
    /// Adds a line for the task's actor when `state` differs from the last call, by this or an earlier process. The
    /// first call ever adds none: nothing changed.
    /// - Parameters:
    ///   - kind: what changed; there is one state of each.
    ///   - state: the present state. Nothing secret: it is stored as given.
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

extension Database {
    /// Durably adds a line for the task's actor.
    package func record(
        _ kind: AuditEntry.Kind, user: UserID?, object: String?, at now: Timestamp
    ) async throws(StoreError) {
        try await write(at: now) { transaction in
            try transaction.audit(kind, user: user, object: object)
        }
    }
}
