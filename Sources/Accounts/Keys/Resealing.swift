package import Coding
package import Crypto
import Storage

extension Database {
    /// Reseals, under the current key, data that older keys have sealed: refresh tokens, including those waiting for
    /// revocation or a link, and the private keys for assertions. Works in small transactions while the server runs. A
    /// second run continues where the first stopped, because finished items need no more work.
    /// - Parameter progress: called before the first batch and after each.
    /// - Returns: nil, with nothing begun, when the server seals with another key: it might be unable to open what ours
    ///   seals.
    package func reseal(
        _ keyring: SealingKeyring, clock: any WallClock, progress: (_ looked: Int, _ total: Int) -> Void = { _, _ in }
    ) async throws(Failure) -> ResealReport? {
        guard let stamp = try await sealingKeyStamp(), stamp.keyID.isExactly(keyring.currentKeyID) else { return nil }
        var report = ResealReport(keyID: keyring.currentKeyID)
        try await resealTokens(keyring, &report, progress)
        guard !Task.isCancelled else { return report }
        try await resealSigningKeys(keyring, &report)
        if report.tokens + report.signingKeys > 0 {
            // Replaced seals are in the database's log too.
            try await Failure.ofStore(await store.engine.eraseRemains(isCertain: true))
        }
        report.isComplete = true
        if !keyring.previousKeyIDs.isEmpty { report.previousKeysUntil = try await previousKeysUntil(stamp, clock) }
        return report
    }

    private func resealTokens(
        _ keyring: SealingKeyring, _ report: inout ResealReport, _ progress: (_ looked: Int, _ total: Int) -> Void
    ) async throws(Failure) {
        var (looked, total) = (0, try await sealedTokenCount())
        progress(looked, total)
        var place: SealedToken.Place?
        while !Task.isCancelled {
            let tokens = try await sealedTokens(after: place, limit: ResealReport.batch)
            guard let last = tokens.last else { return }
            var changes: [(token: SealedToken, sealed: [UInt8])] = []
            var kept: [(token: SealedToken, sealed: [UInt8])] = []
            for token in tokens {
                switch keyring.resealed(token) {
                case .current: report.current += 1
                case .sealed(let sealed): changes.append((token, sealed))
                case .unreadable(let keyID, let seal):
                    report.unreadable[keyID ?? "", default: 0] += 1
                    if let seal { kept.append((token, seal)) }
                }
            }
            if !kept.isEmpty { _ = try await replaceSealedTokens(kept) }
            if !changes.isEmpty {
                let replaced = try await replaceSealedTokens(changes)
                report.tokens += replaced
                // Tokens that changed since they were read were sealed by the running server, with the current key.
                report.current += changes.count - replaced
            }
            place = last.place
            looked += tokens.count
            total = max(total, looked)
            progress(looked, total)
        }
    }

    private func resealSigningKeys(
        _ keyring: SealingKeyring, _ report: inout ResealReport
    ) async throws(Failure) {
        let before = try await signingKeys()
        let outdated = before.filter { record in record.sealedPrivateKey.map(keyring.isOutdated) ?? false }
        guard !outdated.isEmpty else { return }
        let after = try await changeSigningKeys { keys in keys.map(keyring.resealed) }
        for record in outdated {
            let sealed = after.first { $0.keyID.isExactly(record.keyID) }?.sealedPrivateKey
            // Erased on schedule since it was listed.
            guard let sealed else { continue }
            if keyring.isOutdated(sealed) {
                report.unreadable[SealingKeyring.keyID(of: sealed) ?? "", default: 0] += 1
            } else {
                report.signingKeys += 1
            }
        }
    }

    /// When older keys are no longer needed for data that is not resealed: browsers', and the hashes of deleted people and
    /// of those in the audit log.
    private func previousKeysUntil(
        _ stamp: SealingKeyStamp, _ clock: any WallClock
    ) async throws(Failure) -> Timestamp {
        let since = stamp.since ?? clock.now()
        let others = since.adding(seconds: max(ResealReport.browserTime, options.retention.audit))
        guard let deletion = try await lastDeletion(before: stamp.since) else { return others }
        return max(others, deletion.adding(seconds: RetentionPolicy.revocations))
    }
}

extension SealingKeyring {
    fileprivate func resealed(_ token: SealedToken) -> QueuedToken.Resealed {
        if case .revocation = token.place {
            return QueuedToken.resealed(token.sealed, context: token.context, keyring: self)
        }
        guard isOutdated(token.sealed) else { return .current }
        guard let plain = try? open(token.sealed, purpose: token.purpose, context: token.context) else {
            return .unreadable(keyID: SealingKeyring.keyID(of: token.sealed), kept: nil)
        }
        return .sealed(seal(plain, purpose: token.purpose, context: token.context))
    }
}

package struct ResealReport: Hashable, Sendable {
    /// Tokens in one transaction; other writers wait for it.
    package static let batch = 200
    /// How long a browser may return data that was sealed for it, in seconds: a sign-in in progress, or a kept name.
    package static let browserTime = max(SignInConfiguration.maximumAttemptLifetime, KeptName.lifetime)

    /// The key that now seals.
    package var keyID: String
    /// Resealed refresh tokens, including queued ones.
    package var tokens = 0
    package var signingKeys = 0
    /// Refresh tokens that were already sealed under this key.
    package var current = 0
    /// Tokens and keys that could not be opened, by the ID of the key that sealed them. They are left as they are.
    package var unreadable: [String: Int] = [:]
    /// False when the task was cancelled.
    package var isComplete = false
    /// Keep the previous keys listed until then; nil when none is listed.
    package var previousKeysUntil: Timestamp?

    /// Whether this run found nothing under the previous keys, and nobody can bring anything that needs them.
    package func isOver(at now: Timestamp) -> Bool {
        isComplete && unreadable.isEmpty && tokens + signingKeys == 0 && previousKeysUntil.map { $0 <= now } ?? false
    }
}
