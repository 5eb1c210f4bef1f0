import Coding
import Crypto
import Testing

@testable import Accounts

@Suite struct CheckScheduleTests {
    private let now = Timestamp(seconds: 1_800_000_000)

    private func seconds(_ moment: Timestamp) -> Int64 { (moment.milliseconds - now.milliseconds) / 1_000 }

    @Test("nothing is planned sooner than a day after a check or a sign-in, or beyond the horizon", arguments: 0..<200)
    func bounds(run: Int) {
        let schedule = CheckSchedule(random: SystemRandom())
        #expect((86_400..<172_800).contains(seconds(schedule.afterSignIn(at: now))))
        #expect((86_400..<90_000).contains(seconds(schedule.afterCheck(at: now))))
        #expect((0..<86_400).contains(seconds(schedule.unplanned(at: now))))
        for (failures, pause) in [(-1, 3_600), (0, 3_600), (1, 7_200), (3, 28_800), (4, 86_400), (99, 86_400)] {
            let base = Int64(pause)
            #expect((base..<base + 3_600).contains(seconds(schedule.retry(failures: failures, at: now))))
        }
        #expect(seconds(schedule.afterSignIn(at: now)) < CheckSchedule.horizon)
    }

    @Test("sign-ins of one moment are spread over the whole day: each of 24 hours gets its share")
    func spread() {
        let schedule = CheckSchedule(random: SystemRandom())
        var hours = [Int](repeating: 0, count: 24)
        for _ in 0..<24_000 { hours[Int(seconds(schedule.afterSignIn(at: now)) - 86_400) / 3_600] += 1 }
        // 1,000 each on average; ±250 is eight standard deviations.
        #expect(hours.allSatisfy { (750...1_250).contains($0) }, "\(hours)")
    }

    @Test("only randomness decides within the bounds")
    func ends() {
        #expect(seconds(CheckSchedule(random: FixedRandom(byte: 0)).afterSignIn(at: now)) == 86_400)
        #expect(CheckSchedule(random: FixedRandom(byte: 0)).unplanned(at: now) == now)
    }
}

@Suite struct CheckPaceTests {
    private let start = Timestamp(seconds: 1_800_000_000)

    @Test("no interval allows more checks than the rate plus one burst, at any rate", arguments: [1, 3, 20, 1_000])
    func rate(rate: Int) {
        var pace = CheckPace(rate: rate)
        var begun = 0
        for step in 0..<600 {
            let free = pace.available(at: start.adding(milliseconds: Int64(step) * 250))
            pace.spend(free)
            begun += free
        }
        let most = rate * 150 + 1 + rate / 4
        #expect(begun <= most)
        #expect(begun >= rate * 149)
    }

    @Test("a changed clock allows one burst, then the rate again")
    func clockJumps() {
        for jump: Int64 in [-86_400_000, 86_400_000] {
            var pace = CheckPace(rate: 20)
            pace.spend(pace.available(at: start))
            #expect(pace.available(at: start) == 0)
            let there = start.adding(milliseconds: jump)
            #expect(pace.available(at: there) <= 6)
            pace.spend(pace.available(at: there))
            #expect(pace.available(at: there.adding(milliseconds: 50)) == 1)
        }
    }

    @Test("a million credentials fit in a day at the default rate")
    func million() {
        // 1,000,000 in 86,400 s are 11.6 a second.
        #expect(CredentialChecks.standardRate * 86_400 >= 1_000_000 * 3 / 2)
    }
}

@Suite struct CheckBackOffTests {
    private let start = Timestamp(seconds: 1_800_000_000)

    @Test("pauses double to a quarter of an hour, each followed by a single check, until an answer arrives")
    func grows() {
        var backOff = CheckPace(rate: 20)
        var now = start
        var pauses: [Int64] = []
        #expect(backOff.room(capacity: 16, inFlight: 3, at: now) == 13)
        for _ in 0..<14 {
            backOff.failed(spell: backOff.spell, isThrottled: false, retryAfter: nil, at: now)
            let begin = now
            while backOff.room(capacity: 16, inFlight: 0, at: now) == 0 { now = now.adding(milliseconds: 500) }
            pauses.append((now.milliseconds - begin.milliseconds) / 1_000)
            #expect(backOff.room(capacity: 16, inFlight: 0, at: now) == 1)
            #expect(backOff.room(capacity: 16, inFlight: 1, at: now) == 0)
        }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900, 900])
        backOff.answered(spell: backOff.spell)
        #expect(backOff.room(capacity: 16, inFlight: 0, at: now) == 16)
    }

    @Test("concurrent failures count once, and a concurrent answer does not end the pause")
    func together() {
        var backOff = CheckPace(rate: 20)
        for _ in 0..<16 { backOff.failed(spell: 0, isThrottled: false, retryAfter: nil, at: start) }
        #expect(backOff.failures == 1)
        backOff.answered(spell: 0)
        #expect(backOff.room(capacity: 16, inFlight: 0, at: start) == 0)
        #expect(backOff.room(capacity: 16, inFlight: 0, at: start.adding(seconds: 1)) == 1)
    }

    @Test("after 429 the pause is at least a minute, and Retry-After is honoured up to an hour")
    func throttled() {
        for (retryAfter, wait): (Int64?, Int64) in [(nil, 60), (10_000, 60), (300_000, 300), (999_000_000, 3_600)] {
            var backOff = CheckPace(rate: 20)
            backOff.failed(spell: 0, isThrottled: true, retryAfter: retryAfter, at: start)
            let end = start.adding(seconds: wait)
            #expect(backOff.room(capacity: 4, inFlight: 0, at: end.adding(milliseconds: -1)) == 0)
            #expect(backOff.room(capacity: 4, inFlight: 0, at: end) == 1)
        }
    }

    @Test func aClockSetBackIsNotWaitedFor() {
        var backOff = CheckPace(rate: 20)
        backOff.failed(spell: 0, isThrottled: true, retryAfter: nil, at: start)
        #expect(backOff.room(capacity: 4, inFlight: 0, at: start.adding(seconds: -86_400)) == 1)
    }
}

@Suite struct CheckBrakeTests {
    @Test("pauses of a refused client grow from a quarter of an hour to six hours")
    func pause() {
        let now = Timestamp(seconds: 1_800_000_000)
        let seconds = (0...7).map {
            (CheckGate.Pause.next(attempts: $0, at: now).milliseconds - now.milliseconds) / 1_000
        }
        #expect(seconds == [900, 900, 1_800, 3_600, 7_200, 21_600, 21_600, 21_600])
        func pause(_ next: Timestamp) -> CheckGate.Pause {
            CheckGate.Pause(clientID: ClientID("web"), since: now, nextTryAt: next, attempts: 1, detail: "")
        }
        #expect(pause(now).isDue(at: now))
        #expect(!pause(now.adding(milliseconds: 1)).isDue(at: now))
        #expect(!pause(now.adding(seconds: 21_600)).isDue(at: now))
        // Planned by a clock that was ahead.
        #expect(pause(now.adding(seconds: 21_601)).isDue(at: now))
    }
}
