import Coding
import Storage

// What a link does to users.
extension Transaction {
    func commit(_ commit: LinkCommit) throws -> LinkCommitResult {
        let record = commit.record
        guard let link = try storedLink(commit.id) else { return .unknown }
        guard link.state == .authorized, !link.isOver(at: now), let externalID = link.externalID else {
            return .other(link)
        }
        if try hasEnded(record) { return try refuse(link, .signIn(.revoked)) }
        let decision = LinkRule.decide(
            holder: try knownPerson(record).map { person in
                LinkRule.Holder(user: person.user.id, state: person.user.state, externalID: person.user.externalID)
            },
            owner: try owner(ofExternalID: externalID), externalID: externalID, mayReplace: link.mayReplace)

        let user: UserID
        switch decision {
        case .refused(let refusal): return try refuse(link, refusal.failure)
        case .present(let present):
            user = present
            _ = try admitLinked(record)
        case .set(let present, let from):
            user = present
            try releaseExternalID(from: from)
            try setExternalID(externalID, of: user)
            _ = try admitLinked(record)
        case .create(let from):
            try releaseExternalID(from: from)
            user = try admitLinked(record).user.id
            try run("UPDATE user SET external_id = ? WHERE id = ?", [externalID, user])
            // They are back: what they consented to now must not be revoked.
            try cancelRevocations(context.subjectHashes.all(record.team, record.claims))
        }
        try finishLink(link.id, link.kind, user: user)
        guard let committed = try storedLink(link.id) else { return .unknown }
        return .committed(committed)
    }

    /// Stores what the identity brings to its user, new or known, as in every sign-in: address, refresh token and name.
    private func admitLinked(_ record: SignInRecord) throws -> Person {
        guard let person = try admit(record) else { throw StoreError.inconsistent("a link's sign-in is closed") }
        return person
    }

    private func refuse(_ link: Link, _ failure: LinkFailure) throws -> LinkCommitResult {
        try failLink(link.id, failure.reason)
        return .refused(failure)
    }

    /// Takes the external ID from its owner, and ends their sessions, which belong to the application's account.
    private func releaseExternalID(from owner: UserID?) throws {
        guard let owner else { return }
        // The sessions first: their events carry the external ID, by which the application recognises them.
        try endSessions(of: owner, cause: .replaced)
        try setExternalID(nil, of: owner)
    }

    private func setExternalID(_ externalID: String?, of user: UserID) throws {
        try run("UPDATE user SET external_id = ?, updated_at = ? WHERE id = ?", [externalID, now, user])
        try record(.userUpdated, user: user, fields: ["externalID"])
        invalidate(.user(user))
    }
}
