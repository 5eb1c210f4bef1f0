package import Coding
package import Crypto
package import Storage

/// One event loop's cache from token hash to bytes that its caller prepared from the session, such as ready-made fields.
///
/// Bounded; evicts by second chance. Not Sendable: it belongs to its loop. Every hit first compares the generation of
/// `SessionInvalidations`, and a fill is kept only if the generation has not moved since before its read, so that
/// nothing is answered after a write invalidated it. Negative answers are not kept: a stranger's tokens evict nobody.
package final class SessionCache {
    /// Receives the prepared bytes, and whether `lastSeenAt` is due; returns whether it used them. Must not call this
    /// cache.
    package typealias Use = (_ value: Span<UInt8>, _ isTouchDue: Bool) -> Bool

    private let reader: SessionReader
    private let invalidations: SessionInvalidations
    private let limits: SessionLimits
    /// In milliseconds.
    private let idleTimeout: Int64
    private let touchInterval: Int64
    private var ring: SessionRing
    /// The generation up to which the invalidations have been applied.
    private var seen: UInt64

    /// - Parameters: `memory`, the most bytes to use; `valueSize`, of a typical value.
    package init(
        reader: SessionReader, invalidations: SessionInvalidations, limits: SessionLimits, memory: Int,
        valueSize: Int
    ) {
        self.reader = reader
        self.invalidations = invalidations
        self.limits = limits
        idleTimeout = Timestamp(seconds: limits.idleTimeout).milliseconds
        touchInterval = limits.touchInterval
        ring = SessionRing(memory: memory, valueSize: valueSize)
        seen = invalidations.generation
    }

    package var count: Int { ring.count }

    /// The live session of `token`, read on this thread on a miss. `prepare` makes the bytes to keep, and decides about
    /// users that are not active. Returns what `use` returned; false without such a session.
    package func lookUp(
        token: Digest256, now: Timestamp, prepare: (SignedIn) -> [UInt8], use: Use
    ) throws(StoreError) -> Bool {
        if let isOfUse = kept(token, at: now, use: use) { return isOfUse }
        for (found, generation) in reader.takeFound() {
            keep(prepare(found), of: found, readAt: generation, lastSeenAt: seenAt(found, now))
        }
        return try fill(token: token, now: now, prepare: prepare, use: use)
    }

    /// The same, from memory only; nil when nothing is kept, or not trusted.
    package func kept(_ token: Digest256, at now: Timestamp, use: Use) -> Bool? {
        if invalidations.generation != seen { applyInvalidations() }
        guard let slot = ring.slot(of: token), invalidations.trust.holds(at: now) else { return nil }
        let (entry, now) = (ring[slot], now.milliseconds)
        guard now < entry.expiresAt, now &- entry.lastSeenAt < idleTimeout else {
            // It seems to have ended, but another loop may have touched it since, so ask the database.
            ring.evict(at: slot)
            return nil
        }
        let isTouchDue = now &- entry.lastSeenAt >= touchInterval
        if isTouchDue { ring[slot].lastSeenAt = now }
        if !entry.wasUsed { ring[slot].wasUsed = true }
        let values = ring.values
        return use(values.span.extracting(ring.range(of: entry)), isTouchDue)
    }

    /// The same, from the database only.
    package func fill(
        token: Digest256, now: Timestamp, prepare: (SignedIn) -> [UInt8], use: Use
    ) throws(StoreError) -> Bool {
        let generation = invalidations.generation
        guard let found = try reader.signedIn(token: token, at: now), now < limits.end(of: found.session) else {
            return false
        }
        let value = prepare(found)
        let seenAt = seenAt(found, now)
        keep(value, of: found, readAt: generation, lastSeenAt: seenAt)
        return use(value.span, seenAt != found.session.lastSeenAt)
    }

    /// The last use: now, when the reader of the session is due to write it.
    private func seenAt(_ found: SignedIn, _ now: Timestamp) -> Timestamp {
        now.milliseconds - found.session.lastSeenAt.milliseconds >= touchInterval ? now : found.session.lastSeenAt
    }

    /// Keeps a session that was read elsewhere, unless something was invalidated since `generation`, from before the
    /// read.
    package func keep(_ value: [UInt8], of found: SignedIn, readAt generation: UInt64) {
        keep(value, of: found, readAt: generation, lastSeenAt: found.session.lastSeenAt)
    }

    package func removeAll() { ring.removeAll() }

    private func keep(_ value: [UInt8], of found: SignedIn, readAt generation: UInt64, lastSeenAt: Timestamp) {
        if invalidations.generation != seen { applyInvalidations() }
        guard seen == generation else { return }
        let session = found.session
        ring.keep(
            value, token: session.tokenHash, user: session.user, expiresAt: session.expiresAt.milliseconds,
            lastSeenAt: lastSeenAt.milliseconds)
    }

    private func applyInvalidations() {
        let (entries, generation) = invalidations.entries(after: seen)
        for entry in entries {
            switch entry {
            case .token(let token):
                if let slot = ring.slot(of: token) { ring.evict(at: slot) }
            case .user(let user): ring.evict(user)
            case .all: ring.removeAll()
            }
        }
        seen = generation
    }
}
