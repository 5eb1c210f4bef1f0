import Coding
import RelyingParty

extension SQLiteConnection {
    /// Writes every column of a user that can change.
    func write(_ user: User, at now: Timestamp) throws {
        try run(
            """
            UPDATE user SET state = ?, external_id = ?, groups = ?, given_name = ?, family_name = ?, email = ?,
            email_verified = ?, email_private = ?, email_forwarding = ?, real_user_status = ?, updated_at = ?
            WHERE id = ?
            """,
            [
                user.state.rawValue, user.externalID, StringList.encode(user.groups), user.name.given,
                user.name.family, user.email?.address, user.email?.isVerified ?? false, user.email?.isPrivate ?? false,
                user.emailForwarding, user.realUserStatus?.rawValue, now.milliseconds, user.id.rawValue,
            ])
    }

    /// The user with the identity they were created by, or the one they have moved to since.
    func user(_ id: UserID) throws -> User? {
        try firstRow(UserQuery.byID, [id.rawValue]).map { try User(row: $0) }
    }

    /// When Apple spoke last of this person, by whichever identity.
    func lastTold(of user: UserID) throws -> LastTold {
        let row = try firstRow(
            """
            SELECT max(i.email_told_at), max(i.real_user_status_told_at), u.email_event_at FROM user u
            JOIN apple_identity i ON i.user = u.id WHERE u.id = ?
            """, [user.rawValue])
        func moment(_ index: Int) -> Timestamp? { (row?[index] as Int64?).map { Timestamp(milliseconds: $0) } }
        return LastTold(email: moment(0), forwarding: moment(2), realUserStatus: moment(1))
    }

    /// Apple has spoken of the address that the user has now.
    func noteTold(email time: Timestamp, ofIdentity identity: Int64) throws {
        try run(
            "UPDATE apple_identity SET email_told_at = max(coalesce(email_told_at, ?1), ?1) WHERE id = ?2",
            [time.milliseconds, identity])
    }

    /// Sets the state, with its event; ends every session of one who is disabled.
    func setState(
        _ state: User.State, of user: User, cause: SessionEndCause, at now: Timestamp,
        identifiers: RandomIdentifier, effects: inout WriteEffects
    ) throws {
        guard user.state != state else { return }
        try run(
            "UPDATE user SET state = ?, updated_at = ? WHERE id = ?",
            [state.rawValue, now.milliseconds, user.id.rawValue])
        try record(.userUpdated, user: user.id, fields: ["state"], at: now, identifiers: identifiers)
        try audit(user.state, to: state, of: user.id, reason: cause.rawValue, at: now)
        effects.invalidations.append(.user(user.id))
        if state == .disabled {
            try endSessions(
                where: "s.user = ?", [user.id.rawValue], cause: cause, at: now, identifiers: identifiers,
                effects: &effects)
        }
    }
}
