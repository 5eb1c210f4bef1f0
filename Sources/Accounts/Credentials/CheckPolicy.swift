package import Coding
package import Crypto

/// When a credential is checked at Apple.
///
/// Apple allows one check a day. A credential is due at the earliest 24 hours after its last check, or after the
/// sign-in that brought it, which was a check itself. Jitter spreads credentials that arrived together.
package struct CheckSchedule: Sendable {
    /// The shortest time between two checks of one credential, in seconds.
    package static let interval: Int64 = 86_400
    /// The longest random delay of a check, in seconds.
    package static let jitter: Int64 = 3_600
    /// Pauses before a credential is checked again when Apple certainly did not check it, in seconds; the last one
    /// repeats. Up to `jitter` is added to each.
    package static let retries: [Int64] = [3_600, 7_200, 14_400, 28_800, 86_400]
    /// Nothing is planned farther ahead than this, in seconds. A later plan was made before the clock was set back.
    package static let horizon: Int64 = 2 * interval + jitter

    private let random: any RandomSource

    package init(random: any RandomSource) {
        self.random = random
    }

    /// After a sign-in: a day later, at a random time of that day, so that sign-ins of one morning do not make a peak
    /// the next morning.
    package func afterSignIn(at now: Timestamp) -> Timestamp {
        now.adding(seconds: Self.interval).adding(milliseconds: below(Self.interval * 1_000))
    }

    /// After a check began.
    package func afterCheck(at now: Timestamp) -> Timestamp {
        now.adding(seconds: Self.interval).adding(milliseconds: below(Self.jitter * 1_000))
    }

    /// For a credential that has no plan and came without a sign-in: at a random time of the coming day.
    package func unplanned(at now: Timestamp) -> Timestamp {
        now.adding(milliseconds: below(Self.interval * 1_000))
    }

    /// After an attempt that Apple certainly did not act on.
    /// - Parameter failures: how many such attempts came before, in a row.
    package func retry(failures: Int, at now: Timestamp) -> Timestamp {
        let pause = Self.retries[min(max(failures, 0), Self.retries.count - 1)]
        return now.adding(seconds: pause).adding(milliseconds: below(Self.jitter * 1_000))
    }

    /// Even enough: the bound is far below 2⁴⁸.
    private func below(_ bound: Int64) -> Int64 {
        random.bytes(6).reduce(0) { $0 << 8 | Int64($1) } % bound
    }
}

/// How many checks may begin now: a rate per second, in small batches.
package struct CheckPace: Sendable {
    /// Checks per second.
    package let rate: Int
    /// Thousandths of a check.
    private var credit: Int64
    private var last: Timestamp?

    package init(rate: Int) {
        self.rate = max(1, rate)
        credit = 0
    }

    /// A quarter of a second's worth and one more: what may accumulate while nothing is due. With less, fractions of a
    /// check would be lost between two rounds, a quarter of a second apart.
    private var largest: Int64 { 1_000 + Int64(rate) * 250 }

    package mutating func available(at now: Timestamp) -> Int {
        guard let last else {
            credit = largest
            self.last = now
            return Int(credit / 1_000)
        }
        // A clock that was set, forward or back, earns at most one such portion.
        let elapsed = min(max(now.milliseconds - last.milliseconds, 0), 1_000)
        self.last = now
        credit = min(largest, credit + elapsed * Int64(rate))
        return Int(credit / 1_000)
    }

    package mutating func spend(_ count: Int) {
        credit -= Int64(count) * 1_000
    }
}

/// What to do while Apple does not answer: pause, then try one check, and resume fully once it is answered.
package struct CheckBackOff: Sendable {
    /// The longest pause, in seconds.
    package static let longest: Int64 = 900
    /// The shortest pause after a 429, in seconds.
    package static let throttled: Int64 = 60
    /// The longest `Retry-After` that is honoured, in seconds.
    package static let longestRetryAfter: Int64 = 3_600

    /// Failures in a row; checks that were in flight together count once.
    package private(set) var failures = 0
    /// Numbers the period in which a check began: the failure of one that began before the last failure says nothing
    /// new.
    package private(set) var spell = 0
    private var until: Timestamp?

    package init() {}

    /// How many more checks may begin.
    package func room(capacity: Int, inFlight: Int, at now: Timestamp) -> Int {
        guard let until else { return max(0, capacity - inFlight) }
        // An end farther away than the longest pause was set before the clock was set back.
        if now < until, until <= now.adding(seconds: Self.longestRetryAfter) { return 0 }
        return inFlight == 0 ? 1 : 0
    }

    package mutating func answered(spell: Int) {
        guard spell == self.spell else { return }
        failures = 0
        until = nil
    }

    /// - Parameter retryAfter: milliseconds.
    package mutating func failed(spell: Int, isThrottled: Bool, retryAfter: Int64?, at now: Timestamp) {
        guard spell == self.spell else { return }
        failures += 1
        self.spell += 1
        var pause = failures > 10 ? Self.longest : min(Self.longest, 1 << Int64(failures - 1))
        if isThrottled { pause = max(pause, Self.throttled) }
        let asked = min(max(retryAfter ?? 0, 0), Self.longestRetryAfter * 1_000)
        until = now.adding(milliseconds: max(pause * 1_000, asked))
    }
}

// Stops a wave of dead answers: one mistake of ours or of Apple's must not sign everybody out.
extension CheckGate.Brake {
    /// The period in which answers are counted, in minutes.
    package static let window: Int64 = 60
    /// With fewer dead answers than this, nothing is held back.
    package static let leastDead = 20
    /// The share of dead answers that makes a wave, in percent.
    package static let percent = 5
    /// How long the operator's confirmation of a wave is valid, in seconds.
    package static let exemption: Int64 = 86_400

    /// - Parameters:
    ///   - dead: dead answers of the hour, including this one.
    ///   - checks: all conclusive answers of the hour.
    package static func trips(dead: Int, checks: Int) -> Bool {
        dead >= leastDead && dead * 100 > checks * percent
    }
}

// What happens when Apple refuses us as a client: its credentials are not checked, except one now and then until Apple
// accepts us again.
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
