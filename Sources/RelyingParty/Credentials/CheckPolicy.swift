package import Coding
package import Crypto

/// When a credential is checked at Apple.
///
/// Apple asks for once a day at most. So a credential is never due before 24 hours after it was asked about last, or
/// after the sign-in that brought it, which was a check itself; and jitter keeps what came together from staying together.
package struct CheckSchedule: Sendable {
    /// The least time between two checks of one credential, in seconds.
    package static let interval: Int64 = 86_400
    /// How much later a check may come, at random, in seconds.
    package static let jitter: Int64 = 3_600
    /// Pauses before a credential is asked about again whose check Apple certainly did not make, in seconds; the last one
    /// repeats. Each is longer by up to `jitter`.
    package static let retries: [Int64] = [3_600, 7_200, 14_400, 28_800, 86_400]
    /// Nothing is planned farther ahead, in seconds. What is was planned by a clock that has been set back since.
    package static let horizon: Int64 = 2 * interval + jitter

    private let random: any RandomSource

    package init(random: any RandomSource) {
        self.random = random
    }

    /// After a sign-in: one day later, at any time of that day, so that a morning's sign-ins do not make a morning's peak.
    package func afterSignIn(at now: Timestamp) -> Timestamp {
        now.adding(seconds: Self.interval).adding(milliseconds: below(Self.interval * 1_000))
    }

    /// After a check began.
    package func afterCheck(at now: Timestamp) -> Timestamp {
        now.adding(seconds: Self.interval).adding(milliseconds: below(Self.jitter * 1_000))
    }

    /// For a credential that nobody has asked about yet and that no sign-in brought: at any time of the day that begins.
    package func unplanned(at now: Timestamp) -> Timestamp {
        now.adding(milliseconds: below(Self.interval * 1_000))
    }

    /// After an attempt that Apple certainly made no check of.
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
    /// Checks a second.
    package let rate: Int
    /// In thousandths of a check.
    private var credit: Int64
    private var last: Timestamp?

    package init(rate: Int) {
        self.rate = max(1, rate)
        credit = 0
    }

    /// A quarter of a second's, and one more: what may gather while nothing is due. Less would lose parts of a check
    /// between two looks, a quarter of a second apart.
    private var largest: Int64 { 1_000 + Int64(rate) * 250 }

    package mutating func available(at now: Timestamp) -> Int {
        guard let last else {
            credit = largest
            self.last = now
            return Int(credit / 1_000)
        }
        // A clock that was set, to whichever side, earns one helping at most.
        let elapsed = min(max(now.milliseconds - last.milliseconds, 0), 1_000)
        self.last = now
        credit = min(largest, credit + elapsed * Int64(rate))
        return Int(credit / 1_000)
    }

    package mutating func spend(_ count: Int) {
        credit -= Int64(count) * 1_000
    }
}

/// What to do while Apple does not answer: nothing for a while, then one check, and all again once that one is answered.
package struct CheckBackOff: Sendable {
    /// The longest pause, in seconds.
    package static let longest: Int64 = 900
    /// The shortest pause after a 429, in seconds.
    package static let throttled: Int64 = 60
    /// The longest `Retry-After` that is honoured, in seconds.
    package static let longestRetryAfter: Int64 = 3_600

    /// Failures in a row, those of checks that were in flight together counted once.
    package private(set) var failures = 0
    /// Names the spell a check began in: what began before the last failure tells nothing new.
    package private(set) var spell = 0
    private var until: Timestamp?

    package init() {}

    /// How many more may begin.
    package func room(capacity: Int, inFlight: Int, at now: Timestamp) -> Int {
        guard let until else { return max(0, capacity - inFlight) }
        // An end farther away than any pause is of a clock that has been set back.
        if now < until, until <= now.adding(seconds: Self.longestRetryAfter) { return 0 }
        return inFlight == 0 ? 1 : 0
    }

    package mutating func answered(spell: Int) {
        guard spell == self.spell else { return }
        failures = 0
        until = nil
    }

    /// - Parameter retryAfter: in milliseconds.
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

/// What stops a wave: one mistake of ours or of Apple's must not sign everybody out.
package enum CheckBrake {
    /// How far back answers are counted, in minutes.
    package static let window: Int64 = 60
    /// With fewer dead ones nothing is held back.
    package static let leastDead = 20
    /// The share of dead ones above which it is a wave, in percent.
    package static let percent = 5
    /// How long the operator's word holds that the wave is real, in seconds.
    package static let exemption: Int64 = 86_400

    /// - Parameters:
    ///   - dead: of an hour's answers, this one included.
    ///   - checks: the hour's answers that were one or the other.
    package static func trips(dead: Int, checks: Int) -> Bool {
        dead >= leastDead && dead * 100 > checks * percent
    }
}

/// What follows when Apple refuses us as a client: its credentials are left alone, and one of them is asked about now and
/// then, until Apple accepts us.
package enum CheckPause {
    /// Pauses between attempts, in seconds; the last one repeats.
    package static let retries: [Int64] = [900, 1_800, 3_600, 7_200, 21_600]

    /// - Parameter attempts: refusals so far.
    package static func next(attempts: Int, at now: Timestamp) -> Timestamp {
        now.adding(seconds: retries[min(max(attempts, 1), retries.count) - 1])
    }

    /// Whether an attempt is due. A time farther away than any pause is of a clock that has been set back.
    package static func isDue(_ next: Timestamp, at now: Timestamp) -> Bool {
        next <= now || next > now.adding(seconds: retries[retries.count - 1])
    }
}
