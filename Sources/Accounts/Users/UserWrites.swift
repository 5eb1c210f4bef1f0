import Coding

extension Transaction {
    /// Writes all columns of a user that can change.
    func update(_ user: User) throws {
        try run(
            """
            UPDATE user SET state = ?, external_id = ?, groups = ?, given_name = ?, family_name = ?, email = ?,
            email_verified = ?, email_private = ?, email_forwarding = ?, real_user_status = ?, updated_at = ?,
            indexed_name = ?, indexed_groups = ? WHERE id = ?
            """,
            [
                user.state, user.externalID, TextList(user.groups), user.name.given, user.name.family,
                user.email?.address, user.email?.isVerified ?? false, user.email?.isPrivate ?? false,
                user.emailForwarding, user.realUserStatus, now, user.name.indexed, TextList(user.groups), user.id,
            ])
        try indexAgain(user)
    }

    /// Records that Apple has confirmed the user's present address.
    func recordTold(email time: Timestamp, ofIdentity identity: Int64) throws {
        try run(
            "UPDATE apple_identity SET email_told_at = max(coalesce(email_told_at, ?1), ?1) WHERE id = ?2",
            [time, identity])
    }

    /// Sets the state, with its event; ends every session of a disabled user.
    func setState(_ state: User.State, of user: User, cause: SessionEndCause) throws {
        guard user.state != state else { return }
        try run("UPDATE user SET state = ?, updated_at = ? WHERE id = ?", [state, now, user.id])
        try record(.userUpdated, user: user.id, fields: ["state"])
        try audit(user.state, to: state, of: user.id, reason: cause.rawValue)
        invalidate(.user(user.id))
        if state == .disabled { try endSessions(of: user.id, cause: cause) }
    }

    /// Deletes the name of an unfinished sign-in.
    /// - Parameter end: keeps a name that came later: it belongs to a consent after that time, and Apple will not send
    ///   it again.
    func forgetFirstConsent(of subject: AppleSubject, team: TeamID, before end: Timestamp? = nil) throws {
        try run(
            "DELETE FROM first_consent WHERE team = ?1 AND subject = ?2 AND (CAST(?3 AS BIGINT) IS NULL OR saved_at < ?3)",
            [team, subject, end])
    }

    /// Erases what is stored about a person outside their own rows: the name of an unfinished sign-in, and
    /// notifications. A hash still remembers that Apple ended their consent.
    /// - Parameter end: when the person ended it, according to Apple; nil for a deletion here, which erases everything.
    func eraseTraces(of identity: LeavingIdentity, before end: Timestamp? = nil) throws {
        let (subject, team) = (identity.subject, identity.team)
        try keepEnd(of: identity)
        try forgetFirstConsent(of: subject, team: team, before: end)
        try forgetLinks(of: subject, team: team, before: end)
        try run("UPDATE notification SET payload = NULL, subject = NULL WHERE subject = ?", [subject])
    }
}
