package import Coding
package import Crypto
import Storage

/// Seals again under the current key what older keys have sealed: refresh tokens, including those waiting for
/// revocation or a link, and the private keys for assertions. Works in small transactions while the server runs. A
/// second run continues where the first stopped, because finished items need no more work.
package struct Resealing: Sendable {
    /// Tokens in one transaction; other writers wait for it.
    package static let batch = 200

    /// Progress so far.
    package struct Progress: Hashable, Sendable {
        package var looked = 0
        package var total = 0
    }

    private let database: Database
    private let keyring: SealingKeyring
    private let clock: any WallClock

    package init(database: Database, keyring: SealingKeyring, clock: any WallClock) {
        self.database = database
        self.keyring = keyring
        self.clock = clock
    }

    /// - Parameter progress: called before the first batch and after each.
    /// - Returns: what was done; `isComplete` is false when the task was cancelled. Nil, and nothing is begun, when the
    ///   server seals with another key: it might be unable to open what ours seals.
    package func run(progress: (Progress) -> Void = { _ in }) async throws(Failure) -> ResealReport? {
        guard let stamp = try await database.sealingKeyStamp(), stamp.keyID.isExactly(keyring.currentKeyID) else {
            return nil
        }
        return try await work(stamp, progress)
    }

    private func work(
        _ stamp: SealingKeyStamp, _ progress: (Progress) -> Void
    ) async throws(Failure) -> ResealReport {
        var report = ResealReport(keyID: keyring.currentKeyID)
        try await resealTokens(&report, progress)
        guard !Task.isCancelled else { return report }
        try await resealSigningKeys(&report)
        if report.tokens + report.signingKeys > 0 { try await database.forgetReplacedSeals() }
        report.isComplete = true
        if !keyring.previousKeyIDs.isEmpty { report.previousKeysUntil = try await previousKeysUntil(stamp) }
        return report
    }

    private func resealTokens(_ report: inout ResealReport, _ progress: (Progress) -> Void) async throws(Failure) {
        var state = Progress(looked: 0, total: try await database.sealedTokenCount())
        progress(state)
        var place: SealedToken.Place?
        while !Task.isCancelled {
            let tokens = try await database.sealedTokens(after: place, limit: Self.batch)
            guard let last = tokens.last else { return }
            var changes: [(token: SealedToken, sealed: [UInt8])] = []
            var kept: [(token: SealedToken, sealed: [UInt8])] = []
            for token in tokens {
                switch resealed(token) {
                case .current: report.current += 1
                case .sealed(let sealed): changes.append((token, sealed))
                case .unreadable(let keyID, let seal):
                    report.unreadable[keyID ?? "", default: 0] += 1
                    if let seal { kept.append((token, seal)) }
                }
            }
            if !kept.isEmpty { _ = try await database.replaceSealedTokens(kept) }
            if !changes.isEmpty {
                let replaced = try await database.replaceSealedTokens(changes)
                report.tokens += replaced
                // Tokens that changed since they were read were sealed by a running server, with the current key.
                report.current += changes.count - replaced
            }
            place = last.place
            state.looked += tokens.count
            state.total = max(state.total, state.looked)
            progress(state)
        }
    }

    private func resealed(_ token: SealedToken) -> QueuedToken.Resealed {
        if case .revocation = token.place {
            return QueuedToken.resealed(token.sealed, context: token.context, keyring: keyring)
        }
        guard keyring.isOutdated(token.sealed) else { return .current }
        guard let plain = try? keyring.open(token.sealed, purpose: token.purpose, context: token.context) else {
            return .unreadable(keyID: SealingKeyring.keyID(of: token.sealed), kept: nil)
        }
        return .sealed(keyring.seal(plain, purpose: token.purpose, context: token.context))
    }

    private func resealSigningKeys(_ report: inout ResealReport) async throws(Failure) {
        let before = try await database.signingKeys()
        let outdated = before.filter { record in record.sealedPrivateKey.map(keyring.isOutdated) ?? false }
        guard !outdated.isEmpty else { return }
        let after = try await database.changeSigningKeys { [keyring] keys in keys.map(keyring.resealed) }
        for record in outdated {
            let sealed = after.first { $0.keyID.isExactly(record.keyID) }?.sealedPrivateKey
            // Erased on schedule since it was listed.
            guard let sealed else { continue }
            if keyring.isOutdated(sealed) { report.countUnreadable(sealed) } else { report.signingKeys += 1 }
        }
    }

    /// How long a browser may return what was sealed for it, in seconds: a sign-in in progress, or a kept name.
    package static let browserTime = max(SignInConfiguration.maximumAttemptLifetime, KeptName.lifetime)

    /// Until when older keys are still needed for what is not sealed again: what browsers return, and the hashes of
    /// deleted people.
    private func previousKeysUntil(_ stamp: SealingKeyStamp) async throws(Failure) -> Timestamp {
        let browsers = (stamp.since ?? clock.now()).adding(seconds: Self.browserTime)
        guard let deletion = try await database.lastDeletion(before: stamp.since) else { return browsers }
        return max(browsers, deletion.adding(seconds: RetentionPolicy.revocations))
    }
}

/// The result of `Resealing`.
package struct ResealReport: Hashable, Sendable {
    /// The key that now seals.
    package var keyID: String
    /// Resealed refresh tokens, including queued ones.
    package var tokens = 0
    package var signingKeys = 0
    /// Refresh tokens that already were under this key.
    package var current = 0
    /// Tokens and keys that could not be opened, by the ID of the key that sealed them. They are left as they are.
    package var unreadable: [String: Int] = [:]
    /// False when interrupted.
    package var isComplete = false
    /// Keep the previous keys listed until then; nil when none is listed.
    package var previousKeysUntil: Timestamp?

    fileprivate mutating func countUnreadable(_ sealed: [UInt8]) {
        unreadable[SealingKeyring.keyID(of: sealed) ?? "", default: 0] += 1
    }
}
