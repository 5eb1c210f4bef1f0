import Coding
import Foundation
import Testing

@testable import Accounts

/// The life of a credential: every state × every event, as docs/apps/credential-states.md draws it.
@Suite struct CredentialTransitionTests {
    /// A state of the table; nil is "not kept".
    private typealias Column = CredentialState?

    /// The latest `iat` before the event, and moments around it.
    private static let lastSignIn = Timestamp(seconds: 1_800_000_000)
    private static let earlier = lastSignIn.adding(milliseconds: -1)
    private static let later = lastSignIn.adding(seconds: 3_600)
    /// When the state became what it is: after the last sign-in.
    private static let changed = lastSignIn.adding(seconds: 60)

    /// Every event, with each condition it is distinguished by, and what each column becomes. A tie counts as an end.
    private static let events: [(name: String, samples: [CredentialEvent], after: [Column])] = [
        (
            "sign-in", [.signIn(issuedAt: later), .signIn(issuedAt: changed.adding(milliseconds: -999))],
            [.authorized, .authorized, .authorized, .authorized, .authorized]
        ),
        (
            "sign-in, from before the transfer",
            [.signIn(issuedAt: changed.adding(seconds: -1)), .signIn(issuedAt: earlier)],
            [.authorized, .authorized, .authorized, .authorized, .transferred]
        ),
        ("import", [.imported(at: later)], [.authorized] + CredentialState.allCases),
        (
            "consent revoked", [.consentRevoked(at: later), .consentRevoked(at: lastSignIn)],
            [nil, .revoked, .revoked, .notFound, .transferred]
        ),
        ("consent revoked, before the last sign-in", [.consentRevoked(at: earlier)], columns),
        (
            "Apple Account deleted (erase)",
            [.accountDeleted(at: later, .erase), .accountDeleted(at: lastSignIn, .erase)], columns.map { _ in nil }
        ),
        (
            "Apple Account deleted (disable)",
            [.accountDeleted(at: later, .disable), .accountDeleted(at: lastSignIn, .disable)],
            [nil, .notFound, .notFound, .notFound, .notFound]
        ),
        (
            "Apple Account deleted, before the last sign-in",
            [.accountDeleted(at: earlier, .erase), .accountDeleted(at: earlier, .disable)], columns
        ),
        ("token alive", [.tokenAlive], columns),
        (
            "token dead, the last one",
            [
                .tokenDead(at: later, newestIssuedAt: lastSignIn, othersLive: false),
                .tokenDead(at: earlier, newestIssuedAt: later, othersLive: false),
            ],
            [nil, .revoked, .revoked, .notFound, .transferred]
        ),
        (
            "token dead, another client's lives",
            [.tokenDead(at: later, newestIssuedAt: lastSignIn, othersLive: true)], columns
        ),
        (
            "token dead, before the last sign-in",
            [.tokenDead(at: later, newestIssuedAt: earlier, othersLive: false)], columns
        ),
        ("deleted", [.deleted], columns.map { _ in nil }),
        (
            "transfer out", [.transferredOut(at: later)],
            [nil, .transferred, .revoked, .notFound, .transferred]
        ),
        ("transfer in", [.transferredIn(at: later)], [.authorized] + CredentialState.allCases),
    ]

    /// The states before an event: none, and each that there is.
    private static let columns: [Column] = [nil] + CredentialState.allCases

    /// The way to each state that a test begins with.
    private static let causes: [CredentialState: [CredentialCause]] = [
        .authorized: [.signIn, .imported, .transferredIn], .revoked: [.consentRevoked, .tokenDead],
        .notFound: [.accountDeleted], .transferred: [.transferredOut],
    ]

    private static let document = try? String(
        contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../../docs/apps/credential-states.md"), encoding: .utf8)

    @Test("each event changes each state as the table says", arguments: events.indices)
    func table(index: Int) {
        let event = Self.events[index]
        #expect(event.after.count == Self.columns.count)
        for (state, expected) in zip(Self.columns, event.after) {
            for sample in event.samples {
                for before in Self.beginnings(state) {
                    let after = CredentialStatus.transition(from: before, on: sample, lastSignIn: Self.lastSignIn)
                    #expect(after?.state == expected, "\(event.name) \(sample) from \(String(describing: before))")
                }
            }
        }
    }

    /// The statuses of a column.
    private static func beginnings(_ state: Column) -> [CredentialStatus?] {
        guard let state else { return [nil] }
        return (causes[state] ?? []).map { CredentialStatus(state: state, changedAt: changed, cause: $0) }
    }

    @Test("the diagram in docs/ has exactly the changes of the table")
    func drawing() throws {
        var expected: Set<String> = []
        for (name, _, after) in Self.events {
            let event = name.prefix { $0 != "," }
            for (from, to) in zip(Self.columns, after) where from != to {
                expected.insert("\(from?.rawValue ?? "[*]") --> \(to?.rawValue ?? "[*]"): \(event)")
            }
        }
        var drawn: Set<String> = []
        for line in try #require(Self.document).split(separator: "\n") where line.contains(" --> ") {
            let parts = line.trimmingCharacters(in: .whitespaces).components(separatedBy: ": ")
            try #require(parts.count == 2, "\(line)")
            for event in parts[1].components(separatedBy: " · ") {
                #expect(drawn.insert("\(parts[0]): \(event)").inserted, "twice: \(line)")
            }
        }
        #expect(drawn.subtracting(expected).sorted() == [])
        #expect(expected.subtracting(drawn).sorted() == [])
    }

    @Test("every cause is an event of the document and is in the API's description")
    func causes() throws {
        let causes = Self.causes.values.flatMap { $0 }
        #expect(Set(causes) == Set(CredentialCause.allCases))
        let api = try String(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(
                path: "../../../docs/openapi.yaml"),
            encoding: .utf8)
        let names = CredentialCause.allCases.map(\.rawValue)
        #expect(
            api.contains(
                "enum: [sign_in, imported, consent_revoked, account_deleted, token_dead, "
                    + "transferred_out, transferred_in]"))
        #expect(
            names == [
                "sign_in", "imported", "consent_revoked", "account_deleted", "token_dead", "transferred_out",
                "transferred_in",
            ])
    }

    @Test("a change of state has its event's time and cause; other events leave both unchanged")
    func timesAndCauses() {
        for state in [nil] + CredentialState.allCases.map({ Optional($0) }) {
            for before in Self.beginnings(state) {
                for (name, samples, _) in Self.events {
                    for sample in samples {
                        let after = CredentialStatus.transition(from: before, on: sample, lastSignIn: Self.lastSignIn)
                        guard let after, after != before else { continue }
                        let told = Self.timeAndCause(of: sample)
                        #expect(after.changedAt == told?.time && after.cause == told?.cause, "\(name) \(sample)")
                    }
                }
            }
        }
    }

    private static func timeAndCause(of event: CredentialEvent) -> (time: Timestamp, cause: CredentialCause)? {
        switch event {
        case .signIn(let time): (time, .signIn)
        case .imported(let time): (time, .imported)
        case .consentRevoked(let time): (time, .consentRevoked)
        case .accountDeleted(let time, _): (time, .accountDeleted)
        case .tokenDead(let time, _, _): (time, .tokenDead)
        case .transferredOut(let time): (time, .transferredOut)
        case .transferredIn(let time): (time, .transferredIn)
        case .tokenAlive, .deleted: nil
        }
    }

    @Test("of two ends of one kind the earlier counts, in either order; an unknown time yields")
    func earlierEnd() {
        let (first, second) = (Self.lastSignIn.adding(seconds: 10), Self.lastSignIn.adding(seconds: 20))
        let kinds: [(CredentialState, CredentialCause, (Timestamp) -> CredentialEvent)] = [
            (.revoked, .consentRevoked, { .consentRevoked(at: $0) }),
            (.notFound, .accountDeleted, { .accountDeleted(at: $0, .disable) }),
        ]
        for (state, cause, event) in kinds {
            let expected = CredentialStatus(state: state, changedAt: first, cause: cause)
            for known in [first, second, nil] {
                for told in [[first, second], [second, first]] {
                    var status: CredentialStatus? = CredentialStatus(state: state, changedAt: known, cause: cause)
                    for time in told {
                        status = .transition(from: status, on: event(time), lastSignIn: Self.lastSignIn)
                    }
                    #expect(status == expected)
                }
            }
        }
        // A dead token is explained by the withdrawal that came before it, not by one after it.
        let dead = CredentialStatus(state: .revoked, changedAt: first, cause: .tokenDead)
        for (time, cause) in [(Self.lastSignIn, CredentialCause.consentRevoked), (second, .tokenDead)] {
            let after = CredentialStatus.transition(
                from: dead, on: .consentRevoked(at: time), lastSignIn: Self.lastSignIn)
            #expect(after?.cause == cause)
        }
    }

    @Test("a notification that ends a consent also changes the credential's state")
    func agreesWithNotificationEffect() {
        let authorized = CredentialStatus(state: .authorized, changedAt: Self.lastSignIn, cause: .signIn)
        for time in [Self.earlier, Self.lastSignIn, Self.later] {
            for policy in [AccountDeletionPolicy.erase, .disable] {
                let ends: [(String, CredentialEvent)] = [
                    ("consent-revoked", .consentRevoked(at: time)),
                    ("account-deleted", .accountDeleted(at: time, policy)),
                ]
                for (type, event) in ends {
                    let notification = AppleNotification(
                        id: "1", type: type, clientID: ClientID("c"), eventTime: time, payload: "{}")
                    let effect = NotificationEffect(
                        of: notification, lastSignIn: Self.lastSignIn, reports: LastReports(), address: nil,
                        onAccountDeleted: policy)
                    let after = CredentialStatus.transition(from: authorized, on: event, lastSignIn: Self.lastSignIn)
                    guard case .end(_, let loss) = effect else {
                        Issue.record("\(effect)")
                        continue
                    }
                    switch loss {
                    case nil: #expect(after == authorized)
                    case .revoked: #expect(after?.state == .revoked)
                    case .disabled: #expect(after?.state == .notFound)
                    case .erased: #expect(after == nil)
                    }
                }
            }
        }
    }
}
