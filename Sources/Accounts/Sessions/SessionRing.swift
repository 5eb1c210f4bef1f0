import Crypto

/// Sessions in the order in which they were kept, in memory of a fixed size: the oldest makes room for the newest.
///
/// An entry takes 72 bytes, four to eight in two tables that find it by token and by user, and its value. Entries with
/// the same slot in a table are linked from the newest to the oldest. So a link to an evicted one ends the chain, and
/// nothing is ever unlinked.
struct SessionRing {
    struct Entry {
        let token: Digest256
        /// Milliseconds since 1970: the absolute end, and when `lastSeenAt` was last written or read.
        fileprivate(set) var expiresAt: Int64
        var lastSeenAt: Int64
        /// Where its value begins: the number of bytes written before it.
        fileprivate var start: UInt64 = 0
        /// The next older entries with the same slot in the tables.
        fileprivate var olderOfToken: UInt32 = 0
        fileprivate var olderOfUser: UInt32 = 0
        /// Users that share one are evicted together.
        fileprivate let userTag: UInt32
        fileprivate let count: UInt16
        /// Since it was kept, or last spared.
        var wasUsed = false

        fileprivate var isEvicted: Bool { expiresAt == .min }
    }

    /// In bytes; longer ones are not kept.
    static let longestValue = 4_096
    /// How many used entries are spared before one makes room anyway: no look-up pays for all.
    private static let spared = 16

    private let capacity: UInt32
    private let byteCapacity: UInt64
    /// Number `n` is at `(n - 1) % capacity`.
    private var entries: [Entry] = []
    /// Each contiguous, at `start % byteCapacity`.
    private(set) var values: [UInt8] = []
    /// The numbers of the newest entries; 0 is none.
    private var newestByToken: [UInt32] = [0]
    private var newestByUser: [UInt32] = [0]
    /// The numbers of the oldest entry and of the one to come.
    private var oldest: UInt32 = 1
    private var next: UInt32 = 1
    /// Where the last value ends, as `Entry.start`.
    private var end: UInt64 = 0
    private var evictedCount: UInt32 = 0

    /// - Parameters: `memory`, the most bytes to use; `valueSize`, of a typical value.
    init(memory: Int, valueSize: Int) {
        let entry = MemoryLayout<Entry>.stride + 2 * MemoryLayout<UInt32>.stride
        let capacity = min(max(1, memory / (entry + valueSize)), Int(Int32.max))
        self.capacity = UInt32(capacity)
        byteCapacity = UInt64(max(Self.longestValue, memory - capacity * entry))
    }

    var count: Int { Int(next - oldest - evictedCount) }

    // MARK: Find

    /// Where in the ring the session is.
    func slot(of token: Digest256) -> Int? {
        var number = newestByToken[place(token)]
        while isKept(number) {
            let slot = slot(number)
            if entries[slot].token == token { return entries[slot].isEvicted ? nil : slot }
            number = entries[slot].olderOfToken
        }
        return nil
    }

    subscript(slot: Int) -> Entry {
        get { entries[slot] }
        _modify { yield &entries[slot] }
    }

    /// Where in `values` the value of an entry is.
    func range(of entry: Entry) -> Range<Int> {
        let start = Int(entry.start % byteCapacity)
        return start..<start + Int(entry.count)
    }

    // MARK: Change

    /// Replaces the entry of the same token, if any.
    mutating func keep(_ value: [UInt8], token: Digest256, user: UserID, expiresAt: Int64, lastSeenAt: Int64) {
        guard value.count <= Self.longestValue else { return }
        if let slot = slot(of: token) { evict(at: slot) }
        // A number is never used twice.
        if next == .max { removeAll() }
        makeRoom(for: value.count)
        append(
            Entry(
                token: token, expiresAt: expiresAt, lastSeenAt: lastSeenAt, userTag: Self.tag(user),
                count: UInt16(value.count)),
            value)
    }

    mutating func evict(at slot: Int) {
        guard !entries[slot].isEvicted else { return }
        entries[slot].expiresAt = .min
        evictedCount += 1
    }

    mutating func evict(_ user: UserID) {
        let tag = Self.tag(user)
        var number = newestByUser[place(tag)]
        while isKept(number) {
            let slot = slot(number)
            if entries[slot].userTag == tag { evict(at: slot) }
            number = entries[slot].olderOfUser
        }
    }

    mutating func removeAll() {
        entries = []
        values = []
        newestByToken = [0]
        newestByUser = [0]
        (oldest, next, end, evictedCount) = (1, 1, 0, 0)
    }

    // MARK: Rings

    private func isKept(_ number: UInt32) -> Bool { number >= oldest && number < next }

    private func slot(_ number: UInt32) -> Int { Int((number - 1) % capacity) }

    /// Where a value of `count` bytes begins: never across the end of the ring.
    private func start(for count: Int) -> UInt64 {
        let left = byteCapacity - end % byteCapacity
        return UInt64(count) <= left ? end : end + left
    }

    private func hasRoom(for count: Int) -> Bool {
        guard oldest < next else { return true }
        let taken = start(for: count) + UInt64(count) - entries[slot(oldest)].start
        return next - oldest < capacity && taken <= byteCapacity
    }

    /// Second chance: an entry that was used becomes the newest once.
    private mutating func makeRoom(for count: Int) {
        var spared = 0
        while !hasRoom(for: count) {
            var old = entries[slot(oldest)]
            oldest += 1
            guard !old.isEvicted else {
                evictedCount -= 1
                continue
            }
            guard old.wasUsed, spared < Self.spared, next < .max - 1, hasRoom(for: Int(old.count)) else { continue }
            spared += 1
            old.wasUsed = false
            append(old, Array(values[range(of: old)]))
        }
    }

    private mutating func append(_ entry: Entry, _ value: [UInt8]) {
        var entry = entry
        entry.start = start(for: value.count)
        end = entry.start + UInt64(value.count)
        write(value, at: Int(entry.start % byteCapacity))
        link(&entry, next)
        if entries.count == slot(next) { entries.append(entry) } else { entries[slot(next)] = entry }
        next += 1
        growTables()
    }

    private mutating func write(_ value: [UInt8], at start: Int) {
        let missing = start + value.count - values.count
        if missing > 0 { values.append(contentsOf: repeatElement(0, count: missing)) }
        for index in value.indices { values[start + index] = value[index] }
    }

    // MARK: Tables

    private func place(_ token: Digest256) -> Int { Int(truncatingIfNeeded: token.words.0) & (newestByToken.count - 1) }

    private func place(_ tag: UInt32) -> Int { Int(tag) & (newestByUser.count - 1) }

    private static func tag(_ user: UserID) -> UInt32 { UInt32(truncatingIfNeeded: user.hashValue) }

    private mutating func link(_ entry: inout Entry, _ number: UInt32) {
        let (token, user) = (place(entry.token), place(entry.userTag))
        (entry.olderOfToken, newestByToken[token]) = (newestByToken[token], number)
        (entry.olderOfUser, newestByUser[user]) = (newestByUser[user], number)
    }

    /// To a power of two, at most one slot per entry.
    private mutating func growTables() {
        let size = newestByToken.count
        guard Int(next - oldest) > size, 2 * size <= Int(capacity) else { return }
        newestByToken = Array(repeating: 0, count: 2 * size)
        newestByUser = newestByToken
        for number in oldest..<next {
            var entry = entries[slot(number)]
            link(&entry, number)
            entries[slot(number)] = entry
        }
    }
}
