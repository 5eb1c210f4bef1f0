import Coding
import RelyingParty

/// The columns of an identity's status, in the order `CredentialStatus.init(row:from:)` reads them.
enum CredentialColumns {
    static let list = "i.credential_state, i.credential_changed_at, i.credential_cause"

    /// Those of the other identities of `i`'s user, in one text; null when there are none. What moved on to another
    /// identity is not counted beside that.
    static let others = """
        (SELECT group_concat(o.credential_state || ' ' || o.credential_cause || ' ' || \
        coalesce(o.credential_changed_at, ''), ',') FROM apple_identity o \
        WHERE o.user = i.user AND o.id <> i.id AND o.moved_to IS NULL)
        """
}

extension CredentialStatus {
    /// - Parameter offset: the index of the first column.
    init(row: Row, from offset: Int) throws(StoreError) {
        self.init(
            state: try row.value(offset),
            changedAt: (row[offset + 1] as Int64?).map { Timestamp(milliseconds: $0) },
            cause: try row.value(offset + 2))
    }

    /// Reads `CredentialColumns.others`.
    static func others(_ text: String?) throws(StoreError) -> [CredentialStatus] {
        guard let text else { return [] }
        var list: [CredentialStatus] = []
        for item in text.split(separator: ",") {
            let parts = item.split(separator: " ", omittingEmptySubsequences: false)
            guard parts.count == 3, let state = CredentialState(rawValue: String(parts[0])),
                let cause = CredentialCause(rawValue: String(parts[1])), parts[2].isEmpty || Int64(parts[2]) != nil
            else { throw .corrupt("a credential state reads \(item)") }
            list.append(
                CredentialStatus(
                    state: state, changedAt: Int64(parts[2]).map { Timestamp(milliseconds: $0) }, cause: cause))
        }
        return list
    }
}

extension SQLiteConnection {
    /// Takes an event to an identity's status, as `CredentialStatus.transition` decides; when it changes the state of the
    /// person, the applications are told by `user.updated`.
    /// - Returns: the status afterwards; nil when the identity is not to be kept, which is the caller's to do, or is not
    ///   there.
    @discardableResult
    func apply(
        _ event: CredentialEvent, toIdentity identity: Int64, at now: Timestamp, identifiers: RandomIdentifier,
        effects: inout WriteEffects
    ) throws -> CredentialStatus? {
        guard
            let row = try firstRow(
                """
                SELECT i.user, i.last_sign_in_issued_at, \(CredentialColumns.list), \(CredentialColumns.others)
                FROM apple_identity i WHERE i.id = ?
                """, [identity])
        else { return nil }
        let before = try CredentialStatus(row: row, from: 2)
        let transition = CredentialStatus.transition(from: before, on: event, lastSignIn: try row.moment(1))
        guard let after = transition, after != before else { return transition }
        try write(after, toIdentity: identity)
        let user = UserID(unchecked: try row.text(0))
        let others = try CredentialStatus.others(row[5] as String?)
        if CredentialStatus.ofPerson(after, others).state != CredentialStatus.ofPerson(before, others).state {
            try record(.userUpdated, user: user, fields: ["credentialState"], at: now, identifiers: identifiers)
        }
        effects.invalidations.append(.user(user))
        return after
    }

    /// A token of this identity is gone, by Apple's answer or by its word about an earlier sign-in, and its row holds it no
    /// more. When none is left, the newest decides.
    @discardableResult
    func applyDeadToken(
        ofIdentity identity: Int64, at now: Timestamp, identifiers: RandomIdentifier, effects: inout WriteEffects
    ) throws -> CredentialStatus? {
        let row = try firstRow(
            """
            SELECT coalesce(max(issued_at), 0), count(sealed_refresh_token) FROM apple_credential WHERE identity = ?
            """, [identity])
        guard let row else { return nil }
        let event = CredentialEvent.tokenDead(
            at: now, newestIssuedAt: try row.moment(0), othersLive: (row[1] as Int64? ?? 0) > 0)
        return try apply(event, toIdentity: identity, at: now, identifiers: identifiers, effects: &effects)
    }

    func write(_ status: CredentialStatus, toIdentity identity: Int64) throws {
        try run(
            """
            UPDATE apple_identity SET credential_state = ?, credential_changed_at = ?, credential_cause = ? WHERE id = ?
            """, [status.state.rawValue, status.changedAt?.milliseconds, status.cause.rawValue, identity])
    }
}
