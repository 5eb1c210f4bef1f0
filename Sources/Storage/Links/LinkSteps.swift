package import Coding
package import Crypto
package import RelyingParty

// A link until it is committed.
extension Database: LinkStore {
    package func createLink(_ link: Link) async throws(StoreError) {
        try await write { transaction in try transaction.insert(link) }
    }

    package func link(_ key: LinkKey) async throws(StoreError) -> Link? {
        try await read { snapshot in try snapshot.storedLink(key)?.link }
    }

    package func claimLink(
        _ key: LinkKey, for browser: Digest256, takesOver: Bool
    ) async throws(StoreError) -> Bool {
        try await write { transaction in
            try transaction.change(
                """
                UPDATE account_link SET browser = ?1 WHERE id = ?2 AND state = 'open'
                AND (?3 OR coalesce(browser, ?1) = ?1)
                """, [browser, key, takesOver]) > 0
        }
    }

    package func user(of key: LinkKey) async throws(StoreError) -> User? {
        try await read { snapshot in
            guard let user = try snapshot.storedLink(key)?.link.user else { return nil }
            return try snapshot.user(user)
        }
    }

    package func failLink(_ key: LinkKey, reason: String, at now: Timestamp) async throws(StoreError) {
        try await write(at: now) { transaction in
            guard let link = try transaction.storedLink(key)?.link, link.endedAt == nil, link.state != .converting
            else {
                return
            }
            try transaction.end(key, as: .failed, failure: reason)
        }
    }

    // MARK: The second factor

    package func consumeSecondFactorTry(_ key: LinkKey, at now: Timestamp) async throws(StoreError) -> Link? {
        try await write(at: now) { transaction in
            guard let link = try transaction.storedLink(key)?.link, link.state == .challenged else { return nil }
            guard link.tries < LinkLimits.tries else {
                try transaction.end(key, as: .failed, failure: LinkFailure.upgradeEnded.reason)
                return nil
            }
            try transaction.run("UPDATE account_link SET tries = tries + 1 WHERE id = ?", [key])
            return try transaction.storedLink(key)?.link
        }
    }

    package func restoreSecondFactorTry(_ key: LinkKey) async throws(StoreError) {
        try await write { transaction in
            try transaction.run(
                "UPDATE account_link SET tries = tries - 1 WHERE id = ? AND state = 'challenged' AND tries > 0",
                [key])
        }
    }

    package func passSecondFactor(
        _ key: LinkKey, externalID: String, at now: Timestamp
    ) async throws(StoreError) -> Bool {
        try await write(at: now) { transaction in
            try transaction.change(
                """
                UPDATE account_link SET state = 'open', external_id = ?, sealed_challenge = NULL, methods = '[]',
                tries = 0 WHERE id = ? AND state = 'challenged' AND expires_at > ?
                """, [externalID, key, now]) > 0
        }
    }

    package func renewChallenge(
        _ key: LinkKey, sealedChallenge: [UInt8], methods: [String]
    ) async throws(StoreError) -> Bool {
        try await write { transaction in
            try transaction.change(
                "UPDATE account_link SET sealed_challenge = ?, methods = ? WHERE id = ? AND state = 'challenged'",
                [sealedChallenge, TextList(methods), key]) > 0
        }
    }

    // MARK: Apple's answer and the code

    package func authorizeLink(_ authorization: LinkAuthorization) async throws(StoreError) -> Link? {
        try await write { transaction in
            let key = authorization.key
            guard let link = try transaction.storedLink(key)?.link else { return nil }
            guard link.state == .open, !link.isOver(at: authorization.now) else { return link }
            if let waiting = authorization.waiting {
                let changes = try transaction.change(
                    """
                    UPDATE waiting_identity SET link = ?1
                    WHERE id = ?2 AND (link IS NULL OR link = ?1) AND expires_at > ?3
                    """, [key, waiting, authorization.now])
                guard changes > 0 else { return link }
            }
            try transaction.run(
                """
                UPDATE account_link SET state = 'authorized', request = ?, code_hash = ?, sealed_identity = ?, team = ?,
                subject = ?, tries = 0 WHERE id = ?
                """,
                [
                    authorization.request, authorization.codeHash, authorization.sealedIdentity,
                    authorization.team, authorization.subject, key,
                ])
            return try transaction.storedLink(key)?.link
        }
    }

    package func tryCode(
        _ hash: Digest256, of key: LinkKey, at now: Timestamp
    ) async throws(StoreError) -> LinkCodeResult {
        try await write(at: now) { transaction in
            guard let link = try transaction.storedLink(key)?.link else { return .unknown }
            if let expected = link.codeHash, constantTimeEquals(expected, hash) { return .right(link) }
            guard link.endedAt == nil, link.state != .converting else { return .wrong }
            if link.tries + 1 >= LinkLimits.tries {
                try transaction.end(key, as: .failed, failure: LinkFailure.ended.reason)
            } else {
                try transaction.run("UPDATE account_link SET tries = tries + 1 WHERE id = ?", [key])
            }
            return .wrong
        }
    }

    // MARK: Commit, done, undo

    package func commitLink(_ commit: LinkCommit) async throws(StoreError) -> LinkCommitResult {
        try await write(at: commit.record.now) { transaction in try transaction.commit(commit) }
    }

    package func finishLink(_ finish: LinkFinish) async throws(StoreError) -> Link? {
        try await write(at: finish.now) { transaction in try transaction.finish(finish) }
    }

    package func undoLink(_ key: LinkKey, at now: Timestamp) async throws(StoreError) -> Link? {
        try await write(at: now) { transaction in try transaction.undo(key) }
    }
}
