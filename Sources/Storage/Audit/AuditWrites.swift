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

/// On whose behalf the writing connection works now, and how it names whom it works on. Set before each write.
struct AuditContext {
    let subjects: AuditSubjects
    /// For whom it works when no request asks.
    let standing: AuditActor
    /// Who runs the command, when it works for the operator.
    let account: String?
    private(set) var actor: AuditActor

    init(subjects: AuditSubjects, standing: AuditActor, account: String? = nil) {
        self.subjects = subjects
        self.account = account
        self.standing = standing
        actor = standing
    }

    /// - Parameter actor: nil for nobody in particular.
    mutating func begin(for actor: AuditActor?) {
        self.actor = actor ?? standing
    }
}

// An audit line is written in the transaction of what it tells.
extension SQLiteConnection {
    /// - Parameter actor: nil for whoever the write is done for.
    func audit(
        _ kind: AuditEntry.Kind, user: UserID? = nil, reason: String? = nil, object: String? = nil,
        actor: AuditActor? = nil, at now: Timestamp
    ) throws {
        guard let context = auditContext else { return }
        let actor = actor ?? context.actor
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
                now.milliseconds, kind.rawValue, actor.kind.rawValue, user.map(context.subjects.current), reason,
                object, apiKey?.rawValue, network, account,
            ])
    }

    /// The line of a journal's entry, where that tells of something that matters for security.
    func audit(
        _ kind: JournalEntry.Kind, user: UserID, cause: SessionEndCause?, fields: [String], at now: Timestamp
    ) throws {
        switch kind {
        case .userCreated: try audit(.userCreated, user: user, at: now)
        case .sessionCreated: try audit(.signIn, user: user, at: now)
        // Whose time is over, and who signs in anew, took nothing from anybody.
        case .sessionEnded where cause == .expired || cause == .replaced: return
        case .sessionEnded: try audit(.sessionEnded, user: user, reason: cause?.rawValue, at: now)
        case .consentRevoked: try audit(.consentRevoked, user: user, at: now)
        case .accountDeleted: try audit(.userDeleted, user: user, reason: cause?.rawValue, at: now)
        case .userTransferred: try audit(.userTransferred, user: user, at: now)
        case .accountLinked: try audit(.userLinked, user: user, at: now)
        case .accountUpgraded: try audit(.userUpgraded, user: user, at: now)
        case .userUpdated:
            // What a person may be and may open. Their state has a line of its own, and their name is no matter of security.
            let changed = fields.filter { ["groups", "externalID", "identities", "credentialState"].contains($0) }
            guard !changed.isEmpty else { return }
            try audit(.userChanged, user: user, object: changed.joined(separator: ","), at: now)
        case .emailDisabled, .emailEnabled: return
        }
    }

    /// The line of a change of state.
    func audit(_ before: User.State, to after: User.State, of user: UserID, reason: String?, at now: Timestamp) throws {
        switch (before, after) {
        case _ where before == after: return
        case (_, .disabled): try audit(.userDisabled, user: user, reason: reason, at: now)
        case (.pending, .active): try audit(.userApproved, user: user, reason: reason, at: now)
        case (.disabled, .active): try audit(.userEnabled, user: user, reason: reason, at: now)
        case (_, .active), (_, .pending): try audit(.userChanged, user: user, object: "state", at: now)
        }
    }
}

extension Database {
    /// Adds a line by the task's actor when something is not as it was at the last call, of this process or of one before.
    /// The first call ever adds none: there was nothing to change from.
    /// - Parameters:
    ///   - kind: what changed; there is one state of each.
    ///   - state: what it is now. Nothing secret: it is kept as it is given.
    package func noteChange(
        _ kind: AuditEntry.Kind, to state: [UInt8], object: String?, at now: Timestamp
    ) async throws(StoreError) {
        try await commits.write { connection, _ in
            let key = "audited-\(kind.rawValue)"
            let before = try connection.firstRow("SELECT value FROM meta WHERE key = ?", [key])?.bytes(0)
            guard before != state else { return }
            try connection.run(
                "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                [key, state])
            if before != nil { try connection.audit(kind, object: object, at: now) }
        }
    }
}

extension Database: AuditLog {
    package func note(
        _ kind: AuditEntry.Kind, user: UserID?, object: String?, at now: Timestamp
    ) async throws(StoreError) {
        try await commits.write { connection, _ in
            try connection.audit(kind, user: user, object: object, at: now)
        }
    }
}
