package import Coding
package import Crypto
package import RelyingParty

// A link until it is committed.
extension Database: LinkStore {
    package func createLink(_ link: Link) async throws(StoreError) {
        try await commits.write { connection, _ in try connection.insert(link) }
    }

    package func link(_ key: LinkKey) async throws(StoreError) -> Link? {
        try await read { connection in try connection.storedLink(key)?.link }
    }

    package func claimLink(
        _ key: LinkKey, for browser: Digest256, takesOver: Bool
    ) async throws(StoreError) -> Bool {
        try await commits.write { connection, _ in
            try connection.run(
                """
                UPDATE account_link SET browser = ?1 WHERE id = ?2 AND state = 'open'
                AND (?3 OR coalesce(browser, ?1) = ?1)
                """, [browser, key.rawValue, takesOver])
            return connection.changesCount > 0
        }
    }

    package func user(of key: LinkKey) async throws(StoreError) -> User? {
        try await read { connection in
            guard let user = try connection.storedLink(key)?.link.user else { return nil }
            return try connection.user(user)
        }
    }

    package func failLink(_ key: LinkKey, reason: String, at now: Timestamp) async throws(StoreError) {
        try await commits.write { connection, _ in
            guard let link = try connection.storedLink(key)?.link, link.endedAt == nil, link.state != .converting else {
                return
            }
            try connection.end(key, as: .failed, failure: reason, at: now)
        }
    }

    // MARK: The second factor

    package func takeSecondFactorTry(_ key: LinkKey, at now: Timestamp) async throws(StoreError) -> Link? {
        try await commits.write { connection, _ in
            guard let link = try connection.storedLink(key)?.link, link.state == .challenged else { return nil }
            guard link.tries < LinkLimits.tries else {
                try connection.end(
                    key, as: .failed, failure: LinkFailure.upgradeEnded.reason, at: now)
                return nil
            }
            try connection.run("UPDATE account_link SET tries = tries + 1 WHERE id = ?", [key.rawValue])
            return try connection.storedLink(key)?.link
        }
    }

    package func giveBackSecondFactorTry(_ key: LinkKey) async throws(StoreError) {
        try await commits.write { connection, _ in
            try connection.run(
                "UPDATE account_link SET tries = tries - 1 WHERE id = ? AND state = 'challenged' AND tries > 0",
                [key.rawValue])
        }
    }

    package func passSecondFactor(
        _ key: LinkKey, externalID: String, at now: Timestamp
    ) async throws(StoreError) -> Bool {
        try await commits.write { connection, _ in
            try connection.run(
                """
                UPDATE account_link SET state = 'open', external_id = ?, sealed_challenge = NULL, methods = '[]',
                tries = 0 WHERE id = ? AND state = 'challenged' AND expires_at > ?
                """, [externalID, key.rawValue, now.milliseconds])
            return connection.changesCount > 0
        }
    }

    package func renewChallenge(
        _ key: LinkKey, sealedChallenge: [UInt8], methods: [String]
    ) async throws(StoreError) -> Bool {
        try await commits.write { connection, _ in
            try connection.run(
                "UPDATE account_link SET sealed_challenge = ?, methods = ? WHERE id = ? AND state = 'challenged'",
                [sealedChallenge, StringList.encode(methods), key.rawValue])
            return connection.changesCount > 0
        }
    }

    // MARK: Apple's answer and the code

    package func authorizeLink(_ authorization: LinkAuthorization) async throws(StoreError) -> Link? {
        try await commits.write { connection, _ in
            let key = authorization.key
            guard let link = try connection.storedLink(key)?.link else { return nil }
            guard link.state == .open, !link.isOver(at: authorization.now) else { return link }
            if let waiting = authorization.waiting {
                try connection.run(
                    """
                    UPDATE waiting_identity SET link = ?1
                    WHERE id = ?2 AND (link IS NULL OR link = ?1) AND expires_at > ?3
                    """, [key.rawValue, waiting.rawValue, authorization.now.milliseconds])
                guard connection.changesCount > 0 else { return link }
            }
            try connection.run(
                """
                UPDATE account_link SET state = 'authorized', request = ?, code_hash = ?, sealed_identity = ?, team = ?,
                subject = ?, tries = 0 WHERE id = ?
                """,
                [
                    authorization.request, authorization.codeHash, authorization.sealedIdentity,
                    authorization.team.rawValue, authorization.subject.rawValue, key.rawValue,
                ])
            return try connection.storedLink(key)?.link
        }
    }

    package func tryCode(
        _ hash: Digest256, of key: LinkKey, at now: Timestamp
    ) async throws(StoreError) -> LinkCodeResult {
        try await commits.write { connection, _ in
            guard let link = try connection.storedLink(key)?.link else { return .unknown }
            if let expected = link.codeHash, constantTimeEquals(expected, hash) { return .right(link) }
            guard link.endedAt == nil, link.state != .converting else { return .wrong }
            if link.tries + 1 >= LinkLimits.tries {
                try connection.end(key, as: .failed, failure: LinkFailure.ended.reason, at: now)
            } else {
                try connection.run("UPDATE account_link SET tries = tries + 1 WHERE id = ?", [key.rawValue])
            }
            return .wrong
        }
    }

    // MARK: Commit, done, undo

    package func commitLink(_ commit: LinkCommit) async throws(StoreError) -> LinkCommitResult {
        let writer = LinkWriter(identifiers: identifiers, subjectHashes: subjectHashes)
        return try await commits.write { connection, effects in
            try writer.commit(commit, on: connection, effects: &effects)
        }
    }

    package func finishLink(_ finish: LinkFinish) async throws(StoreError) -> Link? {
        let writer = LinkWriter(identifiers: identifiers, subjectHashes: subjectHashes)
        return try await commits.write { connection, effects in
            try writer.finish(finish, on: connection, effects: &effects)
        }
    }

    package func undoLink(_ key: LinkKey, at now: Timestamp) async throws(StoreError) -> Link? {
        let writer = LinkWriter(identifiers: identifiers, subjectHashes: subjectHashes)
        return try await commits.write { connection, effects in
            try writer.undo(key, at: now, on: connection, effects: &effects)
        }
    }
}
