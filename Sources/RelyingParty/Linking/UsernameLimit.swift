import Coding
import Crypto
import Synchronization

/// How often passwords are tried at one account, whether there is such an account or not. In memory, by a keyed hash of
/// the name: names are nowhere.
final class UsernameLimit: Sendable {
    /// The time a try counts, in seconds.
    static let window: Int64 = 900
    /// Names remembered at once.
    static let capacity = 10_000

    private struct State {
        var tries: [[UInt8]: [Timestamp]] = [:]
        /// When the names were looked through last for those that count no more.
        var sweptAt: Timestamp?
    }

    private let maximum: Int
    private let keyring: SealingKeyring
    private let state = Mutex(State())

    init(maximum: Int, keyring: SealingKeyring) {
        self.maximum = max(1, maximum)
        self.keyring = keyring
    }

    /// Counts a try.
    /// - Returns: nil when it may be made, else the seconds until one may. While more names are tried than are remembered,
    ///   new ones wait: an attacker who floods the memory forgets nobody's tries.
    func take(_ username: String, at now: Timestamp) -> Int64? {
        // Verifiers mostly do not tell cases apart, nor blanks around a name: neither may be worth another try.
        let name = username.lowercased().drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed()
        let hash = keyring.keyedHash(of: Array(String(name).utf8), purpose: .other("username-limit"))
        let maximum = maximum
        return state.withLock { state in
            let counted = state.tries[hash, default: []].filter { Self.counts($0, at: now) }
            if counted.count >= maximum {
                state.tries[hash] = counted
                return max(1, (Self.window * 1_000 - (now.milliseconds - counted[0].milliseconds) + 999) / 1_000)
            }
            if state.tries[hash] == nil, state.tries.count >= Self.capacity {
                Self.sweep(&state, at: now)
                if state.tries.count >= Self.capacity { return 60 }
            }
            state.tries[hash] = counted + [now]
            return nil
        }
    }

    /// Not what is from ahead of a clock that was set back.
    private static func counts(_ moment: Timestamp, at now: Timestamp) -> Bool {
        moment <= now && now < moment.adding(seconds: window)
    }

    /// At most once a second.
    private static func sweep(_ state: inout State, at now: Timestamp) {
        if let last = state.sweptAt, last <= now, now < last.adding(seconds: 1) { return }
        state.sweptAt = now
        state.tries = state.tries.filter { $0.value.contains { counts($0, at: now) } }
    }
}
