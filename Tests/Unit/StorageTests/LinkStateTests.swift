import Coding
import Crypto
import Storage
import Stores
import Testing

@testable import Accounts

/// Every state of a link under every operation: what it answers, and what the state is then.
@Suite struct LinkStateTests {
    enum Place: String, CaseIterable, Sendable {
        case unknown, open, authorized, done, failed, openLate, authorizedLate, doneLate, failedLate
    }

    /// A link in a state, and what its holders know.
    private struct Subject {
        var bench: LinkBench
        var link: NewLink
        var code: LinkCode

        init(_ place: Place, _ kind: LinkKind) async throws {
            bench = try LinkBench()
            try await bench.database.createAPIKey(
                APIKey(id: LinkBench.apiKey, name: "backend", scopes: [.links], createdAt: bench.now),
                hash: randomDigest())
            link = try await bench.link(kind: kind)
            code = .make(random: SystemRandom())
            let target = place.rawValue.replacing("Late", with: "")
            if target == "unknown" { link.id = RandomIdentifier(random: SystemRandom()).make() }
            if ["authorized", "done", "failed"].contains(target) { code = try await bench.authorize(link) }
            if target == "done" { _ = try await bench.complete(link, code) }
            if target == "failed" {
                try await bench.database.failLink(link.id, reason: "link_ended", at: bench.now)
            }
            if place.rawValue.hasSuffix("Late") { bench.clock.advance(seconds: Link.lifetime) }
        }
    }

    enum Operation: String, CaseIterable, Sendable {
        case page, begin, authorize, authorizeOtherwise, complete, completeWrong, fail, revokeKey
    }

    /// Answer and, where it changes, the state afterwards. Written out by hand.
    private static let table: [Place: [String]] = [
        .unknown: [
            "link_unknown", "link_unknown", "link_unknown", "link_unknown", "link_unknown", "link_unknown", "ok", "ok",
        ],
        .open: [
            "ok", "ok", "ok authorized", "ok authorized", "code_invalid", "code_invalid", "ok failed", "ok failed",
        ],
        .authorized: [
            "link_ended", "link_ended", "ok", "replayed", "ok done", "code_invalid", "ok failed", "ok failed",
        ],
        .done: ["link_ended", "link_ended", "ok", "replayed", "ok", "code_invalid", "ok", "ok"],
        .failed: [
            "link_ended", "link_ended", "link_ended", "link_ended", "link_ended", "code_invalid", "ok", "ok",
        ],
        .openLate: [
            "link_expired", "link_expired", "link_expired", "link_expired", "code_invalid", "code_invalid",
            "ok failed", "ok failed",
        ],
        .authorizedLate: [
            "link_expired", "link_expired", "link_expired", "replayed", "link_expired", "code_invalid", "ok failed",
            "ok failed",
        ],
        .doneLate: ["link_ended", "link_ended", "ok", "replayed", "ok", "code_invalid", "ok", "ok"],
        .failedLate: [
            "link_ended", "link_ended", "link_ended", "link_ended", "link_ended", "code_invalid", "ok", "ok",
        ],
    ]

    static let cases: [(Place, Operation)] = Place.allCases.flatMap { place in
        Operation.allCases.map { (place, $0) }
    }

    @Test("each operation on each state, for both kinds", .onSQLite, arguments: cases)
    func answers(place: Place, operation: Operation) async throws {
        for kind in LinkKind.allCases {
            let subject = try await Subject(place, kind)
            let (bench, link) = (subject.bench, subject.link)
            let before = try await bench.database.link(link.id)?.state
            let answer = await reason {
                switch operation {
                case .page: _ = try await bench.signIn.link(link.id)
                case .begin: _ = try await bench.begin(link)
                case .authorize: _ = try await bench.authorize(link)
                case .authorizeOtherwise: _ = try await bench.authorize(link, code: "code-other")
                case .complete: _ = try await bench.complete(link, subject.code)
                case .completeWrong: _ = try await bench.complete(link, .make(random: SystemRandom()))
                case .fail: try await bench.database.failLink(link.id, reason: "link_ended", at: bench.now)
                case .revokeKey: _ = try await bench.database.revokeAPIKey(LinkBench.apiKey, at: bench.now)
                }
            }
            let after = try await bench.database.link(link.id)?.state
            let index = try #require(Operation.allCases.firstIndex(of: operation))
            let seen = before == after ? answer : "\(answer) \(after?.rawValue ?? "gone")"
            #expect(seen == Self.table[place]?[index])
            // Success means that the account can sign in with Apple.
            if operation == .complete, answer == "ok" {
                #expect(try await bench.user()?.credential.state == .authorized)
            }
        }
    }

    @Test(
        "a failed link keeps no personal data", .onSQLite, arguments: [Place.open, .authorized])
    func failedNamesNobody(place: Place) async throws {
        let subject = try await Subject(place, .link)
        try await subject.bench.database.failLink(subject.link.id, reason: "link_ended", at: subject.bench.now)
        let row = try await subject.bench.row(subject.link.id)
        #expect(row.externalID == nil && row.displayName == nil && row.sealedIdentity == nil)
        #expect(row.team == nil && row.subject == nil)
    }
}
