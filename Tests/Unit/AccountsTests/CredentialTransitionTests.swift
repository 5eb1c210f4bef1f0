import Coding
import Foundation
import Testing

@testable import Accounts

/// The life of a credential: every state × every event, as docs/credential-states.md says and draws.
@Suite struct CredentialTransitionTests {
    /// A state of the table; nil is "not kept".
    private typealias Column = CredentialState?

    /// The latest `iat` before the event, and moments around it.
    private static let lastSignIn = Timestamp(seconds: 1_800_000_000)
    private static let earlier = lastSignIn.adding(milliseconds: -1)
    private static let later = lastSignIn.adding(seconds: 3_600)
    /// When the state became what it is: after the last sign-in.
    private static let changed = lastSignIn.adding(seconds: 60)

    /// The table's rows: every event, with each condition it is told apart by. A tie counts as an end.
    private static let events: [(name: String, samples: [CredentialEvent])] = [
        ("sign-in", [.signIn(issuedAt: later), .signIn(issuedAt: changed.adding(milliseconds: -999))]),
        (
            "sign-in, from before the transfer",
            [.signIn(issuedAt: changed.adding(seconds: -1)), .signIn(issuedAt: earlier)]
        ),
        ("import", [.imported(at: later)]),
        ("consent revoked", [.consentRevoked(at: later), .consentRevoked(at: lastSignIn)]),
        ("consent revoked, before the last sign-in", [.consentRevoked(at: earlier)]),
        (
            "Apple Account deleted (erase)",
            [.accountDeleted(at: later, .erase), .accountDeleted(at: lastSignIn, .erase)]
        ),
        (
            "Apple Account deleted (disable)",
            [.accountDeleted(at: later, .disable), .accountDeleted(at: lastSignIn, .disable)]
        ),
        (
            "Apple Account deleted, before the last sign-in",
            [.accountDeleted(at: earlier, .erase), .accountDeleted(at: earlier, .disable)]
        ),
        ("token alive", [.tokenAlive]),
        (
            "token dead, the last one",
            [
                .tokenDead(at: later, newestIssuedAt: lastSignIn, othersLive: false),
                .tokenDead(at: earlier, newestIssuedAt: later, othersLive: false),
            ]
        ),
        ("token dead, another client's lives", [.tokenDead(at: later, newestIssuedAt: lastSignIn, othersLive: true)]),
        ("token dead, before the last sign-in", [.tokenDead(at: later, newestIssuedAt: earlier, othersLive: false)]),
        ("deleted", [.deleted]),
        ("transfer out", [.transferredOut(at: later)]),
        ("transfer in", [.transferredIn(at: later)]),
    ]

    /// The way to each state that a test begins with.
    private static let causes: [CredentialState: [CredentialCause]] = [
        .authorized: [.signIn, .imported, .transferredIn], .revoked: [.consentRevoked, .tokenDead],
        .notFound: [.accountDeleted], .transferred: [.transferredOut],
    ]

    private static let document = try? String(
        contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../../docs/credential-states.md"), encoding: .utf8)

    private static func column(_ text: String) -> Column? {
        let word = text.filter { $0 != "`" }
        return word == "(not kept)" || word == "[*]" ? .some(nil) : CredentialState(rawValue: word).map { .some($0) }
    }

    /// The rows of the table: the event's name, and by column what the state is afterwards.
    private static func table() throws -> (columns: [Column], rows: [(name: String, cells: [Column])]) {
        let lines = try #require(document).split(separator: "\n").filter { $0.hasPrefix("| ") }
        let cells = lines.map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
        }
        let start = try #require(cells.firstIndex { $0.first == "Event" })
        let columns = try cells[start].dropFirst().map { try #require(column($0)) }
        let rows = try cells[(start + 1)...].map { row in
            let states = try row.dropFirst().enumerated().map { index, cell in
                cell == "same" ? columns[index] : try #require(column(cell))
            }
            return (name: row[0], cells: states)
        }
        return (columns, rows)
    }

    @Test("the table in docs/ is what the code does, and names every state and every event")
    func table() throws {
        let (columns, rows) = try Self.table()
        #expect(columns == [nil] + CredentialState.allCases.map { .some($0) })
        #expect(rows.map(\.name) == Self.events.map(\.name))
        for (row, event) in zip(rows, Self.events) {
            #expect(row.cells.count == columns.count, "\(row.name)")
            for (state, expected) in zip(columns, row.cells) {
                for sample in event.samples {
                    for before in Self.beginnings(state) {
                        let after = CredentialStatus.transition(from: before, on: sample, lastSignIn: Self.lastSignIn)
                        #expect(after?.state == expected, "\(row.name) \(sample) from \(String(describing: before))")
                    }
                }
            }
        }
    }

    /// The statuses a column stands for.
    private static func beginnings(_ state: Column) -> [CredentialStatus?] {
        guard let state else { return [nil] }
        return (causes[state] ?? []).map { CredentialStatus(state: state, changedAt: changed, cause: $0) }
    }

    @Test("the drawing in docs/ has every change of the table and no other")
    func drawing() throws {
        let (columns, rows) = try Self.table()
        var expected: Set<String> = []
        for row in rows {
            let event = row.name.prefix { $0 != "," }
            for (from, to) in zip(columns, row.cells) where from != to {
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

    @Test("every cause of the code is one of the document's events, and the API's description names it")
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

    @Test("a change of state takes time and cause of its event; an event that changes nothing leaves both")
    func timesAndCauses() {
        for state in [nil] + CredentialState.allCases.map({ Optional($0) }) {
            for before in Self.beginnings(state) {
                for (name, samples) in Self.events {
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

    @Test("of two ends of one kind the earlier is the change, whichever comes first; an unknown time gives way")
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
                let ends: [(AppleNotification.Kind, CredentialEvent)] = [
                    (.consentRevoked, .consentRevoked(at: time)),
                    (.accountDeleted, .accountDeleted(at: time, policy)),
                ]
                for (kind, event) in ends {
                    let notification = AppleNotification(
                        id: "1", kind: kind, type: "t", clientID: ClientID("c"), subject: AppleSubject("s"),
                        eventTime: time, payload: "{}")
                    let effect = NotificationEffect(
                        of: notification, lastSignIn: Self.lastSignIn, told: LastTold(), address: nil,
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
