import Coding
import Crypto
import MemoryStores
import RelyingParty
import Storage
import Strangers
import Testing

/// Every state of a link under every operation: what it answers, and what the state is then.
@Suite struct LinkStateTests {
    enum Place: String, CaseIterable, Sendable {
        case unknown, challenged, open, authorized, converting, done, failed, challengedLate, openLate, authorizedLate,
            convertingLate
    }

    /// An upgrade in a state, and what its holder knows.
    private struct Subject {
        var bench: LinkBench
        var start: UpgradeStart
        var isLate: Bool
        var key: LinkKey { LinkKey(start.id) }

        init(_ place: Place) async throws {
            bench = try LinkBench()
            isLate = place.rawValue.hasSuffix("Late")
            bench.account(code: "123456")
            if place == .unknown {
                start = UpgradeStart(
                    id: RandomIdentifier(random: SystemRandom()).make(), token: .make(random: SystemRandom()),
                    nonce: "n", expiresAt: bench.now)
                return
            }
            guard
                case .twoFactorAuthRequired(let start, _) = try await bench.linking.startUpgrade(
                    username: "ann", password: bench.password("correct horse"))
            else { throw LinkBench.Unexpected() }
            self.start = start
            let target = place.rawValue.replacing("Late", with: "")
            if target != "challenged" {
                _ = try await bench.linking.secondFactor(start.id, token: start.token, code: "123456")
            }
            switch target {
            case "authorized": try await authorize()
            case "converting":
                bench.application.set { $0.answers = [.failure(.unavailable("down"))] }
                _ = await reason { _ = try await bench.finish(start) }
            case "done": _ = try await bench.finish(start)
            case "failed": try await bench.database.failLink(key, reason: "link_ended", at: bench.now)
            default: break
            }
            if isLate { bench.clock.advance(seconds: 600) }
        }

        /// As by a process that ends between Apple's answer and the commit.
        private func authorize() async throws {
            let stranger = try bench.bench.stranger()
            try stranger.write {
                try $0.execute(
                    """
                    CREATE TRIGGER killed BEFORE UPDATE OF state ON account_link WHEN NEW.state = 'converting'
                    BEGIN SELECT RAISE(ABORT, 'killed'); END
                    """)
            }
            #expect(await reason { _ = try await bench.finish(start) } == "storage")
            try stranger.write { try $0.execute("DROP TRIGGER killed") }
            #expect(try await bench.row(key).state == .authorized)
        }
    }

    enum Operation: String, CaseIterable, Sendable {
        case secondFactor, begin, finish, finishOtherwise, job, show
    }

    /// Answer and, where it changes, the state afterwards. Written out by hand.
    private static let table: [Place: [String]] = [
        .unknown: ["link_unknown", "link_unknown", "link_unknown", "link_unknown", "ok", "link_unknown"],
        .challenged: [
            "ok open", "second_factor_required", "second_factor_required", "second_factor_required", "ok", "ok",
        ],
        .open: ["ok", "ok", "ok done", "ok done", "ok", "ok"],
        .authorized: ["link_ended", "link_ended", "ok done", "replayed", "ok", "link_ended"],
        .converting: ["link_ended", "link_ended", "ok done", "replayed", "ok done", "link_ended"],
        .done: ["link_ended", "link_ended", "ok", "replayed", "ok", "link_ended"],
        .failed: ["link_ended", "link_ended", "link_ended", "link_ended", "ok", "link_ended"],
        .challengedLate: ["link_expired", "link_expired", "link_expired", "link_expired", "ok", "link_expired"],
        .openLate: ["link_expired", "link_expired", "link_expired", "link_expired", "ok", "link_expired"],
        .authorizedLate: ["link_expired", "link_expired", "link_expired", "replayed", "ok", "link_expired"],
        // The session is not given out any more; the conversion is finished all the same.
        .convertingLate: ["link_ended", "link_ended", "link_completed done", "replayed", "ok done", "link_ended"],
    ]

    static let cases: [(Place, Operation)] = Place.allCases.flatMap { place in
        Operation.allCases.map { (place, $0) }
    }

    @Test(.onSQLite, arguments: cases)
    func answers(place: Place, operation: Operation) async throws {
        let subject = try await Subject(place)
        let (bench, start) = (subject.bench, subject.start)
        let before = try await bench.database.link(subject.key)?.state
        let answer = await reason {
            switch operation {
            case .secondFactor:
                _ = try await bench.linking.secondFactor(start.id, token: start.token, code: "123456")
            case .begin:
                _ = try await bench.linking.beginUpgrade(
                    start.id, token: start.token, binding: bench.browser,
                    returnTo: LinkBench.targets.defaultTarget, replacing: nil)
            case .finish: _ = try await bench.finish(start)
            case .finishOtherwise: _ = try await bench.finish(start, code: "code-other")
            case .job:
                bench.clock.advance(seconds: 60)
                await bench.job().round()
            case .show: _ = try await bench.linking.upgrade(start.id, token: start.token)
            }
        }
        let after = try await bench.database.link(subject.key)?.state
        let index = try #require(Operation.allCases.firstIndex(of: operation))
        let seen = before == after ? answer : "\(answer) \(after?.rawValue ?? "gone")"
        #expect(seen == Self.table[place]?[index])
        // Nobody is without a way in: the password is dropped only with Apple in its place.
        if bench.application.get({ !$0.converted.isEmpty }) {
            #expect(try await bench.user()?.externalID == "account-1")
        }
    }
}
