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
