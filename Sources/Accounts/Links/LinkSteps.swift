package import Coding
package import Crypto
import Storage

package enum LinkCommitResult: Hashable, Sendable {
    /// The user has the external ID; the link is `done`.
    case committed(Link)
    /// The rule refused, or Apple ended the consent: the link has ended, and nothing else changed.
    case refused(ReasonCode)
    /// The link is not, or no longer, `authorized`.
    case other(Link)
    case unknown
}

// A link until it is committed.
extension Database {
    package func createLink(_ link: Link) async throws(Failure) {
        try await write { transaction in try transaction.insert(link) }
    }

    package func link(_ id: LinkID) async throws(Failure) -> Link? {
        try await read { snapshot in try snapshot.storedLink(id) }
    }

    /// Ties an open link to the browser that opens it first. False for another browser, or when the link is not open.
    package func claimLink(_ id: LinkID, for browser: Digest256) async throws(Failure) -> Bool {
        try await write { transaction in
            try transaction.change(
                """
                UPDATE account_link SET browser = ?1 WHERE id = ?2 AND state = 'open' AND coalesce(browser, ?1) = ?1
                """, [browser, id]) > 0
        }
    }

    /// Ends a link that is not committed.
    package func failLink(_ id: LinkID, reason: String, at now: Timestamp) async throws(Failure) {
        try await write(at: now) { transaction in
            guard let link = try transaction.storedLink(id), link.endedAt == nil else { return }
            try transaction.failLink(id, reason)
        }
    }

    /// The account of a completed link with its `LinkRule.obstacle`; nil when its user was deleted.
    package func linkedAccount(_ id: LinkID) async throws(Failure) -> (user: User, obstacle: ReasonCode?)? {
        try await read { snapshot in
            guard let link = try snapshot.storedLink(id), let id = link.user, let user = try snapshot.user(id) else {
                return nil
            }
            var hasIdentity = true
            if let team = link.team, let subject = link.subject {
                let row = try snapshot.identity(team: team, subject: subject)
                hasIdentity =
                    try row.map {
                        try snapshot.exists("SELECT 1 FROM apple_identity WHERE id = ? AND user = ?", [$0, id])
                    } ?? false
            }
            return (user, LinkRule.obstacle(to: link, user: user, hasIdentity: hasIdentity))
        }
    }

    /// From `open` to `authorized`, unless expired, with the request, hash of the code, sealed identity, team and
    /// subject of `wanted`. Only this link may use `waiting` from now on. Returns the link afterwards, whoever
    /// authorized it.
    package func authorizeLink(_ wanted: Link, waiting: WaitingID?, at now: Timestamp) async throws(Failure) -> Link? {
        try await write { transaction in
            let id = wanted.id
            guard let link = try transaction.storedLink(id) else { return nil }
            guard link.state == .open, !link.isOver(at: now) else { return link }
            if let waiting {
                let changes = try transaction.change(
                    """
                    UPDATE waiting_identity SET link = ?1
                    WHERE id = ?2 AND (link IS NULL OR link = ?1) AND expires_at > ?3
                    """, [id, waiting, now])
                guard changes > 0 else { return link }
            }
            try transaction.run(
                """
                UPDATE account_link SET state = 'authorized', request = ?, code_hash = ?, sealed_identity = ?, team = ?,
                subject = ?, tries = 0 WHERE id = ?
                """, [wanted.request, wanted.codeHash, wanted.sealedIdentity, wanted.team, wanted.subject, id])
            return try transaction.storedLink(id)
        }
    }

    /// The link as it was, and whether this is its code. Counts a wrong one while the link waits; the fifth ends it.
    package func tryCode(
        _ hash: Digest256, of id: LinkID, at now: Timestamp
    ) async throws(Failure) -> (link: Link, isRight: Bool)? {
        try await write(at: now) { transaction in
            guard let link = try transaction.storedLink(id) else { return nil }
            if let expected = link.codeHash, constantTimeEquals(expected, hash) { return (link, true) }
            guard link.endedAt == nil else { return (link, false) }
            if link.tries + 1 >= Link.tryLimit {
                try transaction.failLink(id, ReasonCode.linkEnded.rawValue)
            } else {
                try transaction.run("UPDATE account_link SET tries = tries + 1 WHERE id = ?", [id])
            }
            return (link, false)
        }
    }

    /// Applies `LinkRule`, sets the external ID, creates the user if necessary, stores the same as a sign-in with
    /// `record`, except a session, and writes the event.
    package func commitLink(_ id: LinkID, _ record: SignInRecord) async throws(Failure) -> LinkCommitResult {
        try await write(at: record.now) { transaction in try transaction.commit(id, record) }
    }
}

// A link's changes to users.
extension Transaction {
    func commit(_ id: LinkID, _ record: SignInRecord) throws -> LinkCommitResult {
        guard let link = try storedLink(id) else { return .unknown }
        guard link.state == .authorized, !link.isOver(at: now), let externalID = link.externalID else {
            return .other(link)
        }
        if try hasEnded(record) { return try refuse(link, .revoked) }
        let decision = LinkRule.decide(
            holder: try knownPerson(record)?.user, owner: try owner(ofExternalID: externalID), externalID: externalID,
            mayReplace: link.mayReplace)

        let user: UserID
        switch decision {
        case .refused(let code): return try refuse(link, code)
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
            user = try admitLinked(record, externalID: externalID).user.id
            // They are back: the new consent must not be revoked.
            try cancelRevocations(context.subjectHashes.all(record.team, record.claims))
        }
        try finishLink(link.id, link.kind, user: user)
        guard let committed = try storedLink(link.id) else { return .unknown }
        return .committed(committed)
    }

    private func admitLinked(_ record: SignInRecord, externalID: String? = nil) throws -> Person {
        guard let person = try admit(record, externalID: externalID) else {
            throw StoreError.inconsistent("a link's sign-in is closed")
        }
        return person
    }

    private func refuse(_ link: Link, _ code: ReasonCode) throws -> LinkCommitResult {
        try failLink(link.id, code.rawValue)
        return .refused(code)
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
