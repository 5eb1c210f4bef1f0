package import Coding
package import Crypto
package import Storage

// A link until it is committed.
extension Database {
    package func createLink(_ link: Link) async throws(StoreError) {
        try await write { transaction in try transaction.insert(link) }
    }

    package func link(_ id: LinkID) async throws(StoreError) -> Link? {
        try await read { snapshot in try snapshot.storedLink(id) }
    }

    /// Ties an open link to the browser that opens it first.
    /// - Returns: false when the link belongs to another browser, or is not open.
    package func claimLink(_ id: LinkID, for browser: Digest256) async throws(StoreError) -> Bool {
        try await write { transaction in
            try transaction.change(
                """
                UPDATE account_link SET browser = ?1 WHERE id = ?2 AND state = 'open' AND coalesce(browser, ?1) = ?1
                """, [browser, id]) > 0
        }
    }

    /// Ends a link that is not committed.
    package func failLink(_ id: LinkID, reason: String, at now: Timestamp) async throws(StoreError) {
        try await write(at: now) { transaction in
            guard let link = try transaction.storedLink(id), link.endedAt == nil else { return }
            try transaction.failLink(id, reason)
        }
    }

    /// The account of a completed link, by `LinkRule.obstacle`; nil when its user was deleted.
    package func linkedAccount(_ id: LinkID) async throws(StoreError) -> LinkedAccount? {
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
            return LinkRule.obstacle(to: link, user: user, hasIdentity: hasIdentity).map { .closed($0) } ?? .opens(user)
        }
    }

    // MARK: Apple's answer and the code

    /// From `open` to `authorized`, unless expired.
    /// - Returns: the link afterwards, whoever authorized it; nil when there is none.
    package func authorizeLink(_ authorization: LinkAuthorization) async throws(StoreError) -> Link? {
        try await write { transaction in
            let id = authorization.id
            guard let link = try transaction.storedLink(id) else { return nil }
            guard link.state == .open, !link.isOver(at: authorization.now) else { return link }
            if let waiting = authorization.waiting {
                let changes = try transaction.change(
                    """
                    UPDATE waiting_identity SET link = ?1
                    WHERE id = ?2 AND (link IS NULL OR link = ?1) AND expires_at > ?3
                    """, [id, waiting, authorization.now])
                guard changes > 0 else { return link }
            }
            try transaction.run(
                """
                UPDATE account_link SET state = 'authorized', request = ?, code_hash = ?, sealed_identity = ?, team = ?,
                subject = ?, tries = 0 WHERE id = ?
                """,
                [
                    authorization.request, authorization.codeHash, authorization.sealedIdentity,
                    authorization.team, authorization.subject, id,
                ])
            return try transaction.storedLink(id)
        }
    }

    /// Whether this is the link's code. Counts a wrong one while the link waits; the fifth ends it.
    package func tryCode(
        _ hash: Digest256, of id: LinkID, at now: Timestamp
    ) async throws(StoreError) -> LinkCodeResult {
        try await write(at: now) { transaction in
            guard let link = try transaction.storedLink(id) else { return .unknown }
            if let expected = link.codeHash, constantTimeEquals(expected, hash) { return .right(link) }
            guard link.endedAt == nil else { return .wrong }
            if link.tries + 1 >= LinkLimits.tries {
                try transaction.failLink(id, LinkFailure.ended.reason)
            } else {
                try transaction.run("UPDATE account_link SET tries = tries + 1 WHERE id = ?", [id])
            }
            return .wrong
        }
    }

    /// Applies `LinkRule`, sets the external ID, creates the user if necessary, stores what the identity brings, as a
    /// sign-in would, and writes the event.
    package func commitLink(_ commit: LinkCommit) async throws(StoreError) -> LinkCommitResult {
        try await write(at: commit.record.now) { transaction in try transaction.commit(commit) }
    }
}
