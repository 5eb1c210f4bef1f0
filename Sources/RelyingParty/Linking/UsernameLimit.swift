import Coding
import Crypto
import Synchronization

/// Limits wrong passwords and codes for one account, whether or not the account exists. In memory, by a keyed hash of
/// the name: no name is stored.
final class UsernameLimit: Sendable {
    /// A name, as it is counted.
    struct Key: Hashable, Sendable {
        static let length = 32
        let bytes: [UInt8]

        /// The key from its stored bytes.
        init?(kept bytes: ArraySlice<UInt8>) {
            guard bytes.count == Self.length else { return nil }
            self.bytes = Array(bytes)
        }

        fileprivate init(_ bytes: [UInt8]) { self.bytes = bytes }
    }

    /// How long a try counts, in seconds.
    static let window: Int64 = 900
    /// Names remembered individually.
    static let capacity = 10_000
    /// Counters that all further names share, by their hash. Filling them takes more tries than the limit by address
    /// leaves any attacker, so that nobody is blocked by tries for other names.
    static let sharedCounters = 65_536

    private struct State {
        var tries: [Key: [Timestamp]] = [:]
        /// When expired names were last removed.
        var sweptAt: Timestamp?
        var shared: [UInt16] = []
        /// When the shared counters were last all zero.
        var sharedSince: Timestamp?
    }

    private let maximum: Int
    private let keyring: SealingKeyring
    private let state = Mutex(State())

    init(maximum: Int, keyring: SealingKeyring) {
        self.maximum = max(1, maximum)
        self.keyring = keyring
    }

    func key(of username: String) -> Key {
        Key(keyring.keyedHash(of: CountedName(username).bytes, purpose: .other("username-limit")))
    }

    /// Counts a try before it is made.
    /// - Returns: nil when it may be made, otherwise the seconds until one may.
    func consume(_ key: Key, at now: Timestamp) -> Int64? {
        state.withLock { state in
            let counted = state.tries[key, default: []].filter { Self.counts($0, at: now) }
            if counted.count >= maximum {
                state.tries[key] = counted
                return Self.seconds(from: now, to: counted[0].adding(seconds: Self.window))
            }
            if state.tries[key] == nil, state.tries.count >= Self.capacity {
                Self.sweep(&state, at: now)
                if state.tries.count >= Self.capacity { return consumeShared(key, at: now, &state) }
            }
            state.tries[key] = counted + [now]
            return nil
        }
    }

    /// Restores a try that was not wrong, or that nobody answered.
    /// - Parameter moment: when it was counted.
    func restore(_ key: Key, of moment: Timestamp) {
        state.withLock { state in
            if let index = state.tries[key]?.firstIndex(of: moment) {
                state.tries[key]?.remove(at: index)
                if state.tries[key]?.isEmpty == true { state.tries[key] = nil }
            } else if let since = state.sharedSince, since <= moment, state.shared[Self.counter(of: key)] > 0 {
                state.shared[Self.counter(of: key)] -= 1
            }
        }
    }

    private func consumeShared(_ key: Key, at now: Timestamp, _ state: inout State) -> Int64? {
        let since = state.sharedSince.flatMap { Self.counts($0, at: now) ? $0 : nil }
        if since == nil {
            state.shared = [UInt16](repeating: 0, count: Self.sharedCounters)
            state.sharedSince = now
        }
        let index = Self.counter(of: key)
        guard state.shared[index] < maximum else {
            return Self.seconds(from: now, to: (since ?? now).adding(seconds: Self.window))
        }
        state.shared[index] += 1
        return nil
    }

    private static func counter(of key: Key) -> Int { Int(key.bytes[0]) << 8 | Int(key.bytes[1]) }

    private static func seconds(from now: Timestamp, to end: Timestamp) -> Int64 {
        max(1, (end.milliseconds - now.milliseconds + 999) / 1_000)
    }

    /// Does not count tries from the future of a clock that was set back.
    private static func counts(_ moment: Timestamp, at now: Timestamp) -> Bool {
        moment <= now && now < moment.adding(seconds: window)
    }

    /// At most once a second.
    private static func sweep(_ state: inout State, at now: Timestamp) {
        if let last = state.sweptAt, last <= now, now < last.adding(seconds: 1) { return }
        state.sweptAt = now
        state.tries = state.tries.filter { $0.value.contains { counts($0, at: now) } }
        if let since = state.sharedSince, !counts(since, at: now) { (state.shared, state.sharedSince) = ([], nil) }
    }
}
