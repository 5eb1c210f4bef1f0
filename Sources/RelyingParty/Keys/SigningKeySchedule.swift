package import Coding

/// When each key is published, when it signs, and when it goes: pure arithmetic, so that every process that reads the
/// same keys by the same clock says the same.
///
/// A key is **next** (published, not yet signing) from its creation to `signsFrom`, **current** until its successor's
/// `signsFrom`, then **previous** (still published) for `retention`. All keys given here are of one algorithm: those of
/// another have a life of their own.
package struct SigningKeySchedule: Hashable, Sendable {
    /// Seconds an assertion is good for, at most.
    package static let assertionLifetime: Int64 = 300
    /// Seconds a fetched key set may be kept: `max-age`.
    package static let cacheLifetime: Int64 = 300
    /// Seconds after its successor began within which a key's private half is still kept, for a process that is a
    /// moment behind.
    static let handover: Int64 = 60

    /// Seconds one key signs.
    package var period: Int64
    /// Seconds a key is published before it signs: whatever cached the key set has fetched it anew by then.
    package var publishAhead: Int64
    /// Seconds a key stays published after it signed for the last time: longer than its last assertion is good for, a
    /// verifier's tolerance and a cache's age together.
    package var retention: Int64
    /// The same as `publishAhead` when the operator wants to change keys now: longer than a cache's age.
    package var hurriedAhead: Int64

    package init(
        period: Int64 = 30 * 86_400, publishAhead: Int64 = 86_400, retention: Int64 = 3_600, hurriedAhead: Int64 = 600
    ) {
        self.period = period
        self.publishAhead = publishAhead
        self.retention = retention
        self.hurriedAhead = hurriedAhead
    }

    /// When the key is published no longer; nil while no other has taken its place or is about to.
    func publishedUntil(_ key: SigningKeyRecord, among keys: [SigningKeyRecord]) -> Timestamp? {
        successor(of: key, among: keys)?.signsFrom.adding(seconds: retention)
    }

    /// What the key set holds at `now`, oldest first.
    package func published(_ keys: [SigningKeyRecord], at now: Timestamp) -> [SigningKeyRecord] {
        ordered(keys).filter { key in publishedUntil(key, among: keys).map { now < $0 } ?? true }
    }

    /// The key that signs at `now`: the latest whose moment has come. Where that one cannot be used, the one before, as
    /// long as verifiers keep it; else the nearest to come, which they have already.
    /// - Parameter usable: ids of keys whose private half is at hand.
    package func signer(
        _ keys: [SigningKeyRecord], usable: Set<String>, at now: Timestamp
    ) -> SigningKeyRecord? {
        let lastUse = now.adding(seconds: Self.assertionLifetime + Self.cacheLifetime)
        let candidates = ordered(keys).filter { key in
            usable.contains(key.keyID) && (publishedUntil(key, among: keys).map { lastUse <= $0 } ?? true)
        }
        return candidates.last { $0.signsFrom <= now } ?? candidates.first
    }

    /// What the keys shall be at `now`: expired ones gone, private halves that sign no more erased, the next one made in
    /// time, and one that signs at once where there is none.
    /// - Parameters:
    ///   - spare: a fresh key, taken if one is needed; nil makes none.
    package func renewed(
        _ keys: [SigningKeyRecord], usable: Set<String>, spare: SigningKeyRecord?, at now: Timestamp
    ) -> [SigningKeyRecord] {
        let kept = published(keys, at: now).map { key in
            var key = key
            if let successor = successor(of: key, among: keys),
                successor.signsFrom.adding(seconds: Self.handover) <= now
            {
                key.sealedPrivateKey = nil
            }
            return key
        }
        guard var spare, let signsFrom = missing(kept, usable: usable, at: now) else { return kept }
        spare.createdAt = now
        spare.signsFrom = signsFrom
        return kept + [spare]
    }

    /// From when a key signs that has to be made at `now`; nil when none has.
    package func missing(_ keys: [SigningKeyRecord], usable: Set<String>, at now: Timestamp) -> Timestamp? {
        let kept = published(keys, at: now)
        guard let latest = ordered(kept).last(where: { usable.contains($0.keyID) }),
            signer(kept, usable: usable, at: now) != nil
        else { return now }
        let due = latest.signsFrom.adding(seconds: period)
        return now >= due.adding(seconds: -publishAhead) ? max(due, now.adding(seconds: publishAhead)) : nil
    }

    /// What becomes of keys of an algorithm that nobody asks for any more: they get no successor, and each goes when it
    /// would have been followed by one.
    package func runOut(_ keys: [SigningKeyRecord], at now: Timestamp) -> [SigningKeyRecord] {
        published(keys, at: now).compactMap { key in
            var key = key
            let end = successor(of: key, among: keys)?.signsFrom ?? key.signsFrom.adding(seconds: period)
            if end.adding(seconds: retention) <= now { return nil }
            if end.adding(seconds: Self.handover) <= now { key.sealedPrivateKey = nil }
            return key
        }
    }

    /// The operator wants another key: the next one, or a fresh one, as soon as every cache has it.
    package func hurried(
        _ keys: [SigningKeyRecord], spare: SigningKeyRecord, at now: Timestamp
    ) -> [SigningKeyRecord] {
        var keys = published(keys, at: now)
        if let index = keys.lastIndex(where: { now < $0.signsFrom }) {
            let ready = max(now, keys[index].createdAt.adding(seconds: hurriedAhead))
            keys[index].signsFrom = min(keys[index].signsFrom, ready)
            return keys
        }
        var spare = spare
        spare.createdAt = now
        spare.signsFrom = now.adding(seconds: hurriedAhead)
        return keys + [spare]
    }

    /// A key leaked: none of those there is good for anything any more.
    package func revoked(spare: SigningKeyRecord, at now: Timestamp) -> [SigningKeyRecord] {
        var spare = spare
        spare.createdAt = now
        spare.signsFrom = now
        return [spare]
    }

    private func ordered(_ keys: [SigningKeyRecord]) -> [SigningKeyRecord] {
        keys.sorted { ($0.signsFrom, $0.keyID) < ($1.signsFrom, $1.keyID) }
    }

    private func successor(of key: SigningKeyRecord, among keys: [SigningKeyRecord]) -> SigningKeyRecord? {
        let ordered = ordered(keys)
        guard let index = ordered.firstIndex(where: { $0.keyID == key.keyID }) else { return nil }
        return index + 1 < ordered.count ? ordered[index + 1] : nil
    }
}
