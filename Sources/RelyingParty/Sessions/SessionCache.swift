package import Coding
package import Crypto

/// What a look-up found.
@frozen
package struct SessionLookUp<Value> {
    /// What `prepare` made of the session and its user.
    package var value: Value
    /// The session whose `lastSeenAt` should be written; set at most once a minute per session and loop. The caller
    /// passes it to `SessionStore.touch` without waiting.
    package var touchDue: SessionID?

    @inlinable
    package init(value: Value, touchDue: SessionID?) {
        self.value = value
        self.touchDue = touchDue
    }
}

/// One event loop's cache from token hash to what its caller prepared from the session, such as ready-made fields.
///
/// Bounded; evicts by second chance. Not Sendable: it belongs to its loop. Every hit first compares the generation of
/// `SessionInvalidations`, and a fill is kept only if the generation has not moved since before its read, so that
/// nothing is answered after a write invalidated it. Negative answers are not kept: a stranger's tokens evict nobody.
package final class SessionCache<Value> {
    /// The shortest time between two writes of one session's `lastSeenAt`, in seconds.
    package static var touchInterval: Int64 { 60 }

    @usableFromInline
    struct Entry {
        @usableFromInline var token: Digest256
        @usableFromInline var user: UserID
        @usableFromInline var session: SessionID
        /// Milliseconds since 1970: the absolute end, and when `lastSeenAt` was last written or read.
        @usableFromInline var expiresAt: Int64
        @usableFromInline var lastSeenAt: Int64
        @usableFromInline var wasUsed: Bool
        @usableFromInline var value: Value
    }

    @usableFromInline let reader: any SessionReader
    @usableFromInline let invalidations: SessionInvalidations
    let limits: SessionLimits
    let capacity: Int
    /// `limits.idleTimeout` and the touch interval, in milliseconds.
    @usableFromInline let idleTimeout: Int64
    @usableFromInline let touchAfter: Int64

    @usableFromInline var slots: [Entry?] = []
    @usableFromInline var index: [Digest256: Int] = [:]
    var slotsOfUser: [UserID: [Int]] = [:]
    var freeSlots: [Int] = []
    var hand = 0
    /// The generation up to which the list has been applied.
    @usableFromInline var seen: UInt64

    /// - Parameters:
    ///   - reader: the loop's own.
    ///   - capacity: sessions kept, at least 1.
    package init(
        reader: any SessionReader, invalidations: SessionInvalidations, limits: SessionLimits, capacity: Int = 16_384
    ) {
        self.reader = reader
        self.invalidations = invalidations
        self.limits = limits
        self.capacity = max(1, capacity)
        self.idleTimeout = Timestamp(seconds: limits.idleTimeout).milliseconds
        // With a very short idle limit a minute would be too rare.
        self.touchAfter = min(Timestamp(seconds: Self.touchInterval).milliseconds, max(1, idleTimeout / 4))
        self.seen = invalidations.generation
    }

    /// The number of sessions kept.
    package var count: Int { index.count }

    /// The live session of `token`; nil when there is none. On a miss, reads the database on this thread.
    /// - Parameter prepare: makes the value to keep from a session; it also decides about users that are not active.
    @_specialize(where Value == [UInt8])
    @inlinable
    package func lookUp(
        token: Digest256, now: Timestamp, prepare: (SignedIn) -> Value
    ) throws(StoreError) -> SessionLookUp<Value>? {
        if invalidations.generation != seen { applyInvalidations() }
        if let slot = index[token], invalidations.isTrusted(at: now), let found = hit(slot, now: now.milliseconds) {
            return found
        }
        return try miss(token: token, now: now, prepare: prepare)
    }

    @inlinable
    func hit(_ slot: Int, now: Int64) -> SessionLookUp<Value>? {
        guard let entry = slots[slot], now < entry.expiresAt, now &- entry.lastSeenAt < idleTimeout else {
            // Past its end as far as this loop knows; another loop may have touched it since, so ask the database.
            evict(slot)
            return nil
        }
        slots[slot]?.wasUsed = true
        guard now &- entry.lastSeenAt >= touchAfter else { return SessionLookUp(value: entry.value, touchDue: nil) }
        slots[slot]?.lastSeenAt = now
        return SessionLookUp(value: entry.value, touchDue: entry.session)
    }

    @inlinable
    func miss(
        token: Digest256, now: Timestamp, prepare: (SignedIn) -> Value
    ) throws(StoreError) -> SessionLookUp<Value>? {
        guard let found = try read(token: token, now: now) else { return nil }
        let value = prepare(found)
        let touchDue = store(value, of: found, now: now)
        return SessionLookUp(value: value, touchDue: touchDue)
    }

    @usableFromInline
    func read(token: Digest256, now: Timestamp) throws(StoreError) -> SignedIn? {
        guard let found = try reader.signedIn(token: token, at: now), now < limits.end(of: found.session) else {
            return nil
        }
        return found
    }

    /// Keeps a fill unless something was invalidated since before its read; returns whether a touch is due.
    @usableFromInline
    func store(_ value: Value, of found: SignedIn, now: Timestamp) -> SessionID? {
        let isTouchDue = isTouchDue(lastSeenAt: found.session.lastSeenAt.milliseconds, now: now)
        keep(value, of: found, readAt: seen, lastSeenAt: isTouchDue ? now : found.session.lastSeenAt)
        return isTouchDue ? found.session.id : nil
    }

    private func isTouchDue(lastSeenAt: Int64, now: Timestamp) -> Bool {
        now.milliseconds - lastSeenAt >= touchAfter
    }
}

// For what is read elsewhere, by callers that write no touches.
extension SessionCache {
    /// What is kept of a live session, while it is trusted and no touch is due.
    package func kept(_ token: Digest256, at now: Timestamp) -> Value? {
        if invalidations.generation != seen { applyInvalidations() }
        guard let slot = index[token], invalidations.isTrusted(at: now), let entry = slots[slot],
            now.milliseconds < entry.expiresAt, !isTouchDue(lastSeenAt: entry.lastSeenAt, now: now)
        else { return nil }
        slots[slot]?.wasUsed = true
        return entry.value
    }

    /// Keeps what was read, unless something was invalidated since before the read.
    /// - Parameter generation: of the invalidations, taken before the read.
    package func keep(_ value: Value, of found: SignedIn, readAt generation: UInt64) {
        keep(value, of: found, readAt: generation, lastSeenAt: found.session.lastSeenAt)
    }

    private func keep(_ value: Value, of found: SignedIn, readAt generation: UInt64, lastSeenAt: Timestamp) {
        if invalidations.generation != seen { applyInvalidations() }
        guard seen == generation else { return }
        let session = found.session
        insert(
            Entry(
                token: session.tokenHash, user: session.user, session: session.id,
                expiresAt: session.expiresAt.milliseconds, lastSeenAt: lastSeenAt.milliseconds, wasUsed: false,
                value: value))
    }
}

// Bookkeeping: slots are reused; the index finds them by token and, for invalidation, by user.
extension SessionCache {
    @usableFromInline
    func applyInvalidations() {
        let (entries, generation) = invalidations.entries(after: seen)
        for entry in entries {
            switch entry {
            case .token(let token):
                if let slot = index[token] { evict(slot) }
            case .user(let user):
                for slot in slotsOfUser[user] ?? [] { evict(slot) }
            case .all:
                removeAll()
            }
        }
        seen = generation
    }

    @usableFromInline
    func evict(_ slot: Int) {
        guard let entry = slots[slot] else { return }
        slots[slot] = nil
        index[entry.token] = nil
        freeSlots.append(slot)
        if var others = slotsOfUser.removeValue(forKey: entry.user) {
            others.removeAll { $0 == slot }
            if !others.isEmpty { slotsOfUser[entry.user] = others }
        }
    }

    private func insert(_ entry: Entry) {
        if let slot = index[entry.token] { evict(slot) }
        let slot = freeSlot()
        slots[slot] = entry
        index[entry.token] = slot
        slotsOfUser[entry.user, default: []].append(slot)
    }

    private func freeSlot() -> Int {
        if let slot = freeSlots.popLast() { return slot }
        if slots.count < capacity {
            slots.append(nil)
            return slots.count - 1
        }
        // Second chance: an entry used since the hand last passed is spared once. At most one full turn.
        while slots[hand]?.wasUsed == true {
            slots[hand]?.wasUsed = false
            hand = (hand + 1) % capacity
        }
        evict(hand)
        hand = (hand + 1) % capacity
        return freeSlots.removeLast()
    }

    private func removeAll() {
        slots.removeAll()
        index.removeAll()
        slotsOfUser.removeAll()
        freeSlots.removeAll()
        hand = 0
    }
}
