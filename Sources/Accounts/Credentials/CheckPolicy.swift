package import Coding
import Crypto

/// When a credential is checked at Apple.
///
/// Apple allows one check a day. A credential is due at the earliest 24 hours after its last check or its sign-in, which
/// was a check itself. Jitter spreads credentials that arrived together.
package struct CheckSchedule: Sendable {
    /// The shortest time between two checks of one credential, in seconds.
    package static let interval: Int64 = 86_400
    /// The longest random delay of a check, in seconds.
    package static let jitter: Int64 = 3_600
    /// Pauses after an attempt that Apple did not act on, in seconds; the last one repeats. Up to `jitter` is added.
    package static let retries: [Int64] = [3_600, 7_200, 14_400, 28_800, 86_400]
    /// Nothing is planned farther ahead than this, in seconds. A later plan was made before the clock was set back.
    package static let horizon: Int64 = 2 * interval + jitter

    let random: any RandomSource

    /// After a sign-in: a day later at a random time, so that one morning's sign-ins make no peak the next.
    package func afterSignIn(at now: Timestamp) -> Timestamp {
        now.adding(seconds: Self.interval).adding(milliseconds: below(Self.interval * 1_000))
    }

    package func afterCheck(at now: Timestamp) -> Timestamp {
        now.adding(seconds: Self.interval).adding(milliseconds: below(Self.jitter * 1_000))
    }

    /// For a credential that came without a sign-in: at a random time of the coming day.
    package func unplanned(at now: Timestamp) -> Timestamp { now.adding(milliseconds: below(Self.interval * 1_000)) }

    /// After an attempt that Apple did not act on; `failures` is how many preceded it in a row.
    package func retry(failures: Int, at now: Timestamp) -> Timestamp {
        let pause = Self.retries[min(max(failures, 0), Self.retries.count - 1)]
        return now.adding(seconds: pause).adding(milliseconds: below(Self.jitter * 1_000))
    }

    /// Uniform enough: the bound is far below 2⁴⁸.
    private func below(_ bound: Int64) -> Int64 { random.bytes(6).reduce(0) { $0 << 8 | Int64($1) } % bound }
}

/// How many checks may begin now: a rate per second, in small batches. While Apple does not answer: none for a pause, then
/// one, and again the rate once it is answered.
package struct CheckPace: Sendable {
    /// The longest pause, in seconds.
    package static let longestPause: Int64 = 900
    /// The shortest pause after a 429, in seconds.
    package static let throttledPause: Int64 = 60
    /// The longest `Retry-After` that is honoured, in seconds.
    package static let longestRetryAfter: Int64 = 3_600

    /// Checks per second.
    package let rate: Int
    /// Thousandths of a check.
    private var credit: Int64
    private var last: Timestamp?
    /// Failures in a row; checks that were in flight together count once.
    package private(set) var failures = 0
    /// Numbers the period in which a check began: the failure of one from before the last failure is ignored.
    package private(set) var spell = 0
    private var pausedUntil: Timestamp?

    package init(rate: Int) {
        self.rate = max(1, rate)
        credit = 0
    }

    /// The most credit: that of the quarter of a second between two rounds, and one check, so that no fraction is lost.
    private var largest: Int64 { 1_000 + Int64(rate) * 250 }

    package mutating func available(at now: Timestamp) -> Int {
        guard let last else {
            credit = largest
            self.last = now
            return Int(credit / 1_000)
        }
        // Limits what a clock that was set forward earns.
        let elapsed = min(max(now.milliseconds - last.milliseconds, 0), 1_000)
        self.last = now
        credit = min(largest, credit + elapsed * Int64(rate))
        return Int(credit / 1_000)
    }

    package mutating func spend(_ count: Int) { credit -= Int64(count) * 1_000 }

    // MARK: While Apple does not answer

    /// How many more checks may begin, whatever the rate.
    package func room(capacity: Int, inFlight: Int, at now: Timestamp) -> Int {
        guard let pausedUntil else { return max(0, capacity - inFlight) }
        // An end farther away than the longest pause was set before the clock was set back.
        if now < pausedUntil, pausedUntil <= now.adding(seconds: Self.longestRetryAfter) { return 0 }
        return inFlight == 0 ? 1 : 0
    }

    package mutating func answered(spell: Int) {
        guard spell == self.spell else { return }
        failures = 0
        pausedUntil = nil
    }

    /// - Parameter retryAfter: milliseconds.
    package mutating func failed(spell: Int, isThrottled: Bool, retryAfter: Int64?, at now: Timestamp) {
        guard spell == self.spell else { return }
        failures += 1
        self.spell += 1
        var pause = failures > 10 ? Self.longestPause : min(Self.longestPause, 1 << Int64(failures - 1))
        if isThrottled { pause = max(pause, Self.throttledPause) }
        let asked = min(max(retryAfter ?? 0, 0), Self.longestRetryAfter * 1_000)
        pausedUntil = now.adding(milliseconds: max(pause * 1_000, asked))
    }
}

// Stops a wave of dead answers: an error of ours or of Apple must not sign everyone out.
extension CheckGate.Brake {
    /// The period in which answers are counted, in minutes.
    package static let window: Int64 = 60
    /// Fewer dead answers are not a wave.
    package static let leastDead = 20
    /// The share of dead answers that makes a wave, in percent.
    package static let percent = 5
    /// How long the operator's confirmation of a wave is valid, in seconds.
    package static let exemption: Int64 = 86_400

    /// `dead` answers of the hour, including this one, of its conclusive `checks`.
    package static func trips(dead: Int, checks: Int) -> Bool { dead >= leastDead && dead * 100 > checks * percent }
}

// While Apple refuses our client credentials, that client's refresh tokens are not checked, except one now and then.
extension CheckGate.Pause {
    /// Pauses between attempts, in seconds; the last one repeats.
    package static let retries: [Int64] = [900, 1_800, 3_600, 7_200, 21_600]

    /// - Parameter attempts: refusals so far.
    package static func next(attempts: Int, at now: Timestamp) -> Timestamp {
        now.adding(seconds: retries[min(max(attempts, 1), retries.count) - 1])
    }

    /// Whether an attempt is due. A time farther away than the longest pause was set before the clock was set back.
    package func isDue(at now: Timestamp) -> Bool {
        nextTryAt <= now || nextTryAt > now.adding(seconds: Self.retries[Self.retries.count - 1])
    }
}
