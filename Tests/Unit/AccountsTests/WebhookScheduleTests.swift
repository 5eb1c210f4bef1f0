import Coding
import Testing

@testable import Accounts

@Suite struct WebhookScheduleTests {
    private static let start = Timestamp(milliseconds: 1_800_000_000_000)
    private static let minute: Int64 = 60_000
    private static let hour: Int64 = 3_600_000

    private func next(
        _ failures: Int, age: Int64 = 0, retryAfter: Int64? = nil, fraction: UInt16 = 0,
        _ schedule: WebhookSchedule = .standard
    ) -> Int64? {
        let now = Self.start.adding(milliseconds: age)
        return schedule.next(
            failures: failures, queuedAt: Self.start, now: now, retryAfter: retryAfter, fraction: fraction
        ).map { $0.milliseconds - now.milliseconds }
    }

    @Test(
        "ten attempts over three days and a half",
        arguments: [
            (1, 5_000), (2, 5 * minute), (3, 30 * minute), (4, 2 * hour), (5, 5 * hour), (6, 10 * hour), (7, 14 * hour),
            (8, 20 * hour), (9, 24 * hour), (10, nil), (11, nil), (1_000_000, nil),
        ] as [(Int, Int64?)])
    func delays(failures: Int, delay: Int64?) {
        #expect(next(failures) == delay)
    }

    @Test("jitter adds at most a fifth", arguments: [1, 5, 9])
    func jitter(failures: Int) throws {
        let shortest = try #require(next(failures))
        let delays = stride(from: 0, through: 65_535, by: 4_369).compactMap { next(failures, fraction: UInt16($0)) }
        #expect(delays == delays.sorted())
        #expect(Set(delays).count == delays.count)
        #expect(delays.first == shortest)
        #expect(try #require(delays.last) > shortest + shortest * 19 / 100)
        #expect(try #require(delays.last) < shortest + shortest / 5)
    }

    @Test("an event that waited too long behind others is tried once and given up, whatever Retry-After says")
    func lifetime() {
        let lifetime = WebhookSchedule.standard.lifetime
        #expect(lifetime == (75 * Self.hour + 35 * Self.minute + 5_000) * 6 / 5)
        #expect(next(1, age: lifetime - 1) == 5_000)
        #expect(next(1, age: lifetime) == nil)
        // Ten attempts fit in, however long each was delayed.
        #expect(next(9, age: lifetime - 24 * Self.hour * 6 / 5) == 24 * Self.hour)
        #expect(next(10, retryAfter: 60_000) == nil)
    }

    @Test(
        "Retry-After makes a delay longer, never shorter, and never by more than an hour",
        arguments: [
            (1, 0, 5_000), (1, 4_000, 5_000), (1, 60_000, 60_000), (1, 86_400_000, hour), (1, -5, 5_000),
            (1, Int64.max, hour), (5, 60_000, 5 * hour),
        ] as [(Int, Int64, Int64)])
    func retryAfter(failures: Int, asked: Int64, delay: Int64) {
        #expect(next(failures, retryAfter: asked) == delay)
    }

    @Test(
        "only 2xx is delivered; a redirect is a failure",
        arguments: [
            (.status(200), .delivered), (.status(204), .delivered), (.status(299), .delivered),
            (.status(301), .failed("status 301", retryAfter: nil)),
            (.status(308), .failed("status 308", retryAfter: nil)),
            (.status(400), .failed("status 400", retryAfter: nil)), (.status(410), .gone),
            (.status(500, retryAfter: 9), .failed("status 500", retryAfter: nil)),
            (.status(429, retryAfter: 9), .failed("status 429", retryAfter: 9)),
            (.status(503, retryAfter: 9), .failed("status 503", retryAfter: 9)),
            (.status(200, retryAfter: 9), .delivered), (.status(410, retryAfter: 9), .gone),
            (.failure("timeout"), .failed("timeout", retryAfter: nil)), (.abandoned, .abandoned),
        ] as [(WebhookAnswer, WebhookVerdict)])
    func verdicts(answer: WebhookAnswer, verdict: WebhookVerdict) {
        #expect(WebhookVerdict(answer) == verdict)
    }
}

@Suite struct WebhookLinesTests {
    private static let one = WebhookEndpointID(1)
    private static let two = WebhookEndpointID(2)

    private static func delivery(_ endpoint: WebhookEndpointID, _ user: String, _ sequence: Int64) -> WebhookDelivery {
        WebhookDelivery(
            endpoint: endpoint, url: "https://app.example/", sequence: sequence,
            entry: JournalEntry(
                id: EventID(unchecked: "evt_\(sequence)"), kind: .userUpdated, time: Timestamp(milliseconds: 0),
                user: UserID(unchecked: user)),
            line: user, attempts: 0, queuedAt: Timestamp(milliseconds: 0))
    }

    @Test("one event of a user at a time, at each endpoint")
    func oneAtATime() {
        var lines = WebhookLines(capacity: 16)
        let (first, second, other) = (
            Self.delivery(Self.one, "ann", 1), Self.delivery(Self.one, "ann", 2), Self.delivery(Self.one, "bob", 3)
        )
        let elsewhere = Self.delivery(Self.two, "ann", 1)
        #expect(lines.start([first, second, other]) == [first, other])
        #expect(lines.start([first, second, other, elsewhere]) == [elsewhere])
        lines.finish(first)
        #expect(lines.prepare(at: Self.one) > 0)
        #expect(lines.start([second, other]) == [second])
        for delivery in [second, other, elsewhere] { lines.finish(delivery) }
        #expect(lines.isIdle)
    }

    @Test("a delivery that finished during a read is not started again")
    func staleRead() {
        var lines = WebhookLines(capacity: 16)
        let (first, second) = (Self.delivery(Self.one, "ann", 1), Self.delivery(Self.one, "ann", 2))
        #expect(lines.start([first]) == [first])
        #expect(lines.prepare(at: Self.one) == 17)
        lines.finish(first)
        #expect(lines.start([first]).isEmpty)
        #expect(lines.start([first, second]) == [second])
        lines.finish(second)
        // The next read is current: due again, it is sent again.
        #expect(lines.prepare(at: Self.one) == 16)
        #expect(lines.start([first]) == [first])
    }

    @Test("a full endpoint receives no more and does not limit others")
    func capacity() {
        var lines = WebhookLines(capacity: 2)
        let full = (0..<3).map { Self.delivery(Self.one, "u\($0)", Int64($0)) }
        #expect(lines.prepare(at: Self.one) == 2)
        #expect(lines.start(full) == Array(full.prefix(2)))
        #expect(lines.prepare(at: Self.one) == 0)
        #expect(lines.prepare(at: Self.two) == 2)
        #expect(lines.start([full[2]]).isEmpty)
        let other = Self.delivery(Self.two, "u2", 2)
        #expect(lines.start([other]) == [other])
        // The two in flight are still due: one must look behind them.
        lines.finish(full[0])
        #expect(lines.prepare(at: Self.one) == 3)
        #expect(lines.start(full.reversed()) == [full[2]])
    }
}
