package import Coding
import Crypto

/// When each key is published, when it signs, and when it is dropped: pure arithmetic, so that processes with the same
/// keys and clock agree.
///
/// A key is **next** (published, not yet signing) from its creation to `signsFrom`, **current** until its successor's
/// `signsFrom`, then **previous** (still published) for `retention`. All keys passed in have one algorithm; those of
/// another have their own schedule.
package struct SigningKeySchedule: Hashable, Sendable {
    /// The longest validity of an assertion, in seconds.
    package static let assertionLifetime: Int64 = 300
    /// How long a fetched key set may be cached, in seconds: `max-age`.
    package static let cacheLifetime: Int64 = 300
    /// For how many seconds an RSA key verifies `id_token_hint` (RP-Initiated Logout §2); no session lives longer.
    static let verification: Int64 = 400 * 86_400
    /// For how many seconds a private key is kept after its successor began to sign, for a process slightly behind.
    static let handover: Int64 = 60

    /// How long one key signs, in seconds.
    package var period: Int64 = 30 * 86_400
    /// How long a key is published before it signs, in seconds: every cache has fetched the set again by then.
    package var publishAhead: Int64 = 86_400
    /// For how many seconds a key stays published: longer than an assertion's validity, a tolerance and a cache's age.
    package var retention: Int64 = 3_600
    /// Replaces `publishAhead` when the operator rotates keys now; longer than a cache's age.
    package var hurriedAhead: Int64 = 600

    /// When the key is no longer published; nil while it has no successor.
    func publishedUntil(_ key: SigningKeyRecord, among keys: [SigningKeyRecord]) -> Timestamp? {
        successor(of: key, among: keys)?.signsFrom.adding(seconds: retention)
    }

    /// The key set at `now`, oldest first.
    package func published(_ keys: [SigningKeyRecord], at now: Timestamp) -> [SigningKeyRecord] {
        Self.ordered(keys).filter { key in publishedUntil(key, among: keys).map { now < $0 } ?? true }
    }

    /// The keys that may still verify, oldest first: the key set, and for `verification` retired RSA keys.
    package func verifying(_ keys: [SigningKeyRecord], at now: Timestamp) -> [SigningKeyRecord] {
        Self.ordered(keys).filter { key in
            guard let successor = successor(of: key, among: keys) else { return true }
            let lifetime = key.algorithm == .rs256 ? max(retention, Self.verification) : retention
            return now < successor.signsFrom.adding(seconds: lifetime)
        }
    }

    /// The key that signs at `now`: the latest whose `signsFrom` has passed. If that one is unusable, an earlier one
    /// that is still published, otherwise the nearest future one, which verifiers already have.
    /// - Parameter usable: IDs of keys whose private key is available.
    package func signer(_ keys: [SigningKeyRecord], usable: Set<String>, at now: Timestamp) -> SigningKeyRecord? {
        let lastUse = now.adding(seconds: Self.assertionLifetime + Self.cacheLifetime)
        let candidates = Self.ordered(keys).filter { key in
            usable.contains(key.keyID) && (publishedUntil(key, among: keys).map { lastUse <= $0 } ?? true)
        }
        return candidates.last { $0.signsFrom <= now } ?? candidates.first
    }

    /// The keys that should exist at `now`: without expired ones and without private keys that no longer sign, with the
    /// next one made in time, and one that signs at once where there is none.
    /// - Parameter spare: a new key, used if one is needed; with nil none is added.
    package func renewed(
        _ keys: [SigningKeyRecord], usable: Set<String>, spare: SigningKeyRecord?, at now: Timestamp
    ) -> [SigningKeyRecord] {
        let kept = verifying(keys, at: now).map { key in
            var key = key
            if let successor = successor(of: key, among: keys),
                successor.signsFrom.adding(seconds: Self.handover) <= now
            {
                key.sealedPrivateKey = nil
            }
            return key
        }
        guard let spare, let signsFrom = missing(kept, usable: usable, at: now) else { return kept }
        return kept + [spare.made(at: now, signingFrom: signsFrom)]
    }

    /// When a key that must be made at `now` begins to sign; nil when none is needed.
    package func missing(_ keys: [SigningKeyRecord], usable: Set<String>, at now: Timestamp) -> Timestamp? {
        let kept = published(keys, at: now)
        guard let latest = Self.ordered(kept).last(where: { usable.contains($0.keyID) }),
            signer(kept, usable: usable, at: now) != nil
        else { return now }
        let due = latest.signsFrom.adding(seconds: period)
        return now >= due.adding(seconds: -publishAhead) ? max(due, now.adding(seconds: publishAhead)) : nil
    }

    /// The keys of an algorithm that is no longer used: each is dropped when a successor would have replaced it.
    package func runOut(_ keys: [SigningKeyRecord], at now: Timestamp) -> [SigningKeyRecord] {
        published(keys, at: now).compactMap { key in
            var key = key
            let end = successor(of: key, among: keys)?.signsFrom ?? key.signsFrom.adding(seconds: period)
            if end.adding(seconds: retention) <= now { return nil }
            if end.adding(seconds: Self.handover) <= now { key.sealedPrivateKey = nil }
            return key
        }
    }

    /// Rotates at the operator's request: the next key, or a new one, signs as soon as every cache has it.
    package func hurried(_ keys: [SigningKeyRecord], spare: SigningKeyRecord, at now: Timestamp) -> [SigningKeyRecord] {
        var keys = verifying(keys, at: now)
        if let index = keys.lastIndex(where: { now < $0.signsFrom }) {
            let ready = max(now, keys[index].createdAt.adding(seconds: hurriedAhead))
            keys[index].signsFrom = min(keys[index].signsFrom, ready)
            return keys
        }
        return keys + [spare.made(at: now, signingFrom: now.adding(seconds: hurriedAhead))]
    }

    /// Replaces all present keys, because one leaked.
    package func revoked(spare: SigningKeyRecord, at now: Timestamp) -> [SigningKeyRecord] {
        [spare.made(at: now, signingFrom: now)]
    }

    /// In the store's order.
    static func ordered(_ keys: [SigningKeyRecord]) -> [SigningKeyRecord] {
        keys.sorted { ($0.signsFrom, $0.keyID) < ($1.signsFrom, $1.keyID) }
    }

    private func successor(of key: SigningKeyRecord, among keys: [SigningKeyRecord]) -> SigningKeyRecord? {
        let ordered = Self.ordered(keys)
        guard let index = ordered.firstIndex(where: { $0.keyID == key.keyID }) else { return nil }
        return index + 1 < ordered.count ? ordered[index + 1] : nil
    }
}

extension SigningKeyRecord {
    fileprivate func made(at now: Timestamp, signingFrom start: Timestamp) -> SigningKeyRecord {
        var key = self
        (key.createdAt, key.signsFrom) = (now, start)
        return key
    }
}
