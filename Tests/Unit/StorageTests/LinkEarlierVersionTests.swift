import Coding
import Crypto
import LogRecording
import Stores
import Strangers
import Testing

@testable import Accounts
@testable import Storage

/// What a version that handled passwords has left in the database.
@Suite struct LinkEarlierVersionTests {
    static let engines = PostgresCluster.shared == nil ? [false] : [false, true]
    private static let milliseconds: Int64 = 1_800_000_000_000

    /// A link as such a version stored it.
    private struct Row {
        var id: String
        var style = "ticket"
        var kind = LinkKind.upgrade
        var state: String
        var user: String?
        var externalID: String? = "account-1"

        /// With every column that it wrote.
        func insert(_ stranger: any StoreStranger) throws {
            let isOpen = state == "open" || state == "challenged"
            try stranger.execute(
                """
                INSERT INTO account_link (id, style, kind, state, token_hash, address_hash, api_key, external_id,
                display_name, return_to, may_replace, nonce, browser, created_at, expires_at, sealed_challenge, methods,
                tries, request, code_hash, sealed_identity, team, subject, waiting, user, change, taken_from,
                consent_saved_at, session, attempts, next_attempt_at, is_asking, failure, ended_at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 'nonce', ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, NULL, ?, ?, NULL, ?,
                ?, 3, ?, 1, ?, NULL)
                """,
                [
                    id, style, kind.rawValue, state, [UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32),
                    style == "ticket" ? LinkBench.apiKey.rawValue : nil, externalID, "Ann at Example", "/account",
                    [UInt8](repeating: 3, count: 32), milliseconds, milliseconds + 600_000,
                    state == "challenged" ? [4, 5, 6] as [UInt8] : nil, state == "challenged" ? "[\"totp\"]" : "[]",
                    isOpen ? nil : [UInt8](repeating: 7, count: 32), isOpen ? nil : [UInt8](repeating: 8, count: 32),
                    isOpen ? nil : [9, 9, 9] as [UInt8], isOpen ? nil : Bench.team.rawValue, isOpen ? nil : "ann",
                    user, user == nil ? nil : "made", user == nil ? nil : milliseconds,
                    style == "password" && user != nil ? "ses_00000000000000000000000001" : nil,
                    user == nil ? nil : milliseconds + 5_000, user == nil ? nil : "consent_revoked",
                ])
        }
    }

    /// A database with a person who has the account.
    private func inhabited(_ isPostgres: Bool) async throws -> (LinkBench, UserID) {
        let bench = try LinkBench(Bench(isPostgres: isPostgres))
        guard case .signedIn(_, let session, _) = await bench.signInWithApple() else { throw Unexpected() }
        _ = try await bench.database.patchUser(session.user, UserPatch(externalID: "account-1"), at: bench.now)
        return (bench, session.user)
    }

    @Test(
        "a link waiting for a dropped password is done when the database is opened, with one event",
        arguments: engines, LinkKind.allCases)
    func converting(isPostgres: Bool, kind: LinkKind) async throws {
        let (bench, user) = try await inhabited(isPostgres)
        let before = try await bench.events()
        let ids = ["lnk_00000000000000000000000001", "upg_00000000000000000000000002"]
        for (id, style) in zip(ids, ["ticket", "password"]) {
            try Row(id: id, style: style, kind: kind, state: "converting", user: user.rawValue)
                .insert(bench.bench.stranger())
        }
        let next = try bench.restarted()
        for id in ids {
            let row = try await next.row(LinkID(unchecked: id))
            #expect(row.state == .done && row.kind == kind && row.user == user && row.endedAt == next.now)
            #expect(row.externalID == "account-1" && row.subject == AppleSubject("ann"))
            #expect(row.displayName == nil && row.sealedIdentity == nil && row.failure == nil)
            let account = try #require(try await next.database.linkedAccount(row.id))
            let person = try #require(try await next.user())
            #expect(account.obstacle == nil && account.user == person)
        }
        #expect(
            try bench.bench.stranger().texts("SELECT state FROM account_link ORDER BY id") == ["done", "done"])
        let type = kind == .upgrade ? "account.upgraded" : "account.linked"
        #expect(try await next.eventLines().sorted() == ids.map { "\(type) \($0)" })
        #expect(try await next.events().dropLast(2) == before[...])
        // Opened once more, nothing is told again.
        let last = try next.restarted()
        #expect(try await last.eventLines().count == 2)
        last.clock.advance(seconds: RetentionPolicy.links)
        #expect(try await last.database.maintain(at: last.now).links == 2)
        last.database.close()
    }

    @Test("a link whose code the application still has can be completed", arguments: engines)
    func completesWhatConverted(isPostgres: Bool) async throws {
        let bench = try LinkBench(Bench(isPostgres: isPostgres))
        let link = try await bench.link(kind: .upgrade)
        let code = try await bench.authorize(link)
        let user = try await bench.complete(link, code)
        // As that version left it while nobody answered.
        let stranger = try bench.bench.stranger()
        try stranger.execute("DELETE FROM event WHERE type = 'account.upgraded'")
        try stranger.execute(
            "UPDATE account_link SET state = 'converting', ended_at = NULL, change = 'made', next_attempt_at = 1")
        // Beside such a version, before the next opening, it counts as done already.
        #expect(try await bench.row(link.id).state == .done)
        #expect(try await bench.complete(link, code) == user)
        #expect(try await bench.eventLines() == [])
        let next = try bench.restarted()
        #expect(try await next.complete(link, code) == user)
        #expect(try await next.eventLines() == ["account.upgraded \(link.id)"])
        next.database.close()
    }

    @Test("a link whose account is gone reports that it cannot sign in", arguments: engines)
    func convertingInVain(isPostgres: Bool) async throws {
        let (bench, user) = try await inhabited(isPostgres)
        _ = try await bench.database.patchUser(user, UserPatch(externalID: .some("renamed")), at: bench.now)
        let id = LinkID(unchecked: "lnk_00000000000000000000000001")
        try Row(id: id.rawValue, state: "converting", user: user.rawValue).insert(bench.bench.stranger())
        let next = try bench.restarted()
        #expect(try await next.database.linkedAccount(id)?.obstacle == .linkEnded)
        #expect(try await next.eventLines() == ["account.upgraded \(id)"])
        next.database.close()
    }

    /// A link that was begun with a password, which nobody can bring any more.
    @Test(
        "links waiting for a second factor or for Apple expire",
        arguments: engines)
    func begun(isPostgres: Bool) async throws {
        let (bench, user) = try await inhabited(isPostgres)
        let challenged = LinkID(unchecked: "upg_00000000000000000000000001")
        let open = LinkID(unchecked: "upg_00000000000000000000000002")
        let stranger = try bench.bench.stranger()
        try Row(id: challenged.rawValue, style: "password", state: "challenged").insert(stranger)
        try Row(id: open.rawValue, style: "password", state: "open").insert(stranger)
        let next = try bench.restarted()
        #expect(try await next.row(challenged).state == .failed)
        #expect(try await next.row(open).state == .open)
        let listed = try await next.database.links(in: [], after: nil, limit: 10).items
        #expect(listed.map(\.state).sorted { $0.rawValue < $1.rawValue } == [.failed, .open])
        for id in [challenged, open] {
            let ticket = LinkTicket.make(random: SystemRandom())
            #expect(
                await reason {
                    _ = try await next.signIn.authorizeLink(
                        id, ticket: ticket, next.request("nonce"), device: next.device)
                } == "link_unknown")
            #expect(
                await reason {
                    _ = try await next.signIn.completeLink(id, code: "", apiKey: LinkBench.apiKey)
                } == "code_invalid")
            #expect(LinkID(parsing: id.rawValue) == nil)
        }
        // A link of the same account goes its way.
        #expect(try await next.linked(kind: .upgrade).id == user)
        // Their day is over: they expire like others, without the names of people, and go.
        next.clock.advance(seconds: Link.lifetime)
        _ = try await next.database.maintain(at: next.now)
        #expect(
            try stranger.integer(
                "SELECT count(*) FROM account_link WHERE style = 'password' AND external_id IS NOT NULL") == 0)
        next.clock.advance(seconds: RetentionPolicy.links)
        #expect(try await next.database.maintain(at: next.now).links == 3)
        #expect(try await next.eventLines().count == 1)
        next.database.close()
    }

    /// Columns of these tables that came with this step or later; no older column has such a name.
    private static let added = ["link", "client", "organization_id", "person"]
    private static let before = Schema.steps.filter { $0.name < Schema.withoutPasswords.name }

    @Test("the step keeps every row of an older database, and drops the tries of names", arguments: engines)
    func step(isPostgres: Bool) async throws {
        #expect(Self.before.last?.name == "0032-outgoing")
        let (full, user) = try await inhabited(isPostgres)
        _ = try await full.linked("account-2", "bob")
        full.database.close()
        // Every row of it, in a database of the step before.
        let bench = try Bench(isPostgres: isPostgres)
        try Database(
            options: bench.options(), keyring: bench.keyring,
            runtime: Runtime(clock: bench.clock, random: SystemRandom(), logger: LogRecorder().logger),
            steps: Self.before
        ).close()
        let tables = ["user", "apple_identity", "apple_credential", "session", "event", "audit", "used_attempt"]
        let (source, stranger) = (try full.bench.stranger(), try bench.stranger())
        for table in tables {
            try stranger.execute("DELETE FROM \(table)")
            for row in try source.rows("SELECT * FROM \(table)") {
                let columns = row.names.indices.filter { !Self.added.contains(row.names[$0]) }
                let marks = columns.map { _ in "?" }.joined(separator: ", ")
                try stranger.execute(
                    "INSERT INTO \(table) (\(columns.map { row.names[$0] }.joined(separator: ", "))) VALUES (\(marks))",
                    columns.map { row[$0].argument })
            }
        }
        // Numbers continue behind these.
        for table in ["event", "audit"] where isPostgres {
            try stranger.execute(
                "SELECT setval(pg_get_serial_sequence('\(table)', 'sequence'), (SELECT max(sequence) FROM \(table)))")
        }
        try Row(id: "lnk_00000000000000000000000001", state: "converting", user: user.rawValue).insert(stranger)
        try Row(id: "upg_00000000000000000000000002", style: "password", state: "open").insert(stranger)
        try stranger.execute(
            "INSERT INTO username_try (name, tried_at) VALUES (?, 1)", [[UInt8](repeating: 1, count: 32)])
        func contents() throws -> [String] {
            // Prepared again each time: PostgreSQL does not run a plan from before a step.
            let stranger = try bench.stranger()
            return try tables.flatMap { table in
                try stranger.rows("SELECT * FROM \(table)").map { row in
                    let shown = row.names.indices.filter { !Self.added.contains(row.names[$0]) }
                    return "\(table): " + shown.map { "\(row.names[$0])=\(row[$0])" }.joined(separator: " ")
                }
            }
        }
        let kept = try contents()
        #expect(kept.count > 10)

        let opened = try LinkBench(bench)
        #expect(try Set(contents()).isSuperset(of: kept))
        #expect(try await opened.user()?.id == user)
        #expect(try await opened.user("account-2") != nil)
        // The event of the link that waited is the only one more.
        let entries = try await opened.database.events(after: nil, limit: 100)
        #expect(entries.map(\.kind.rawValue).last == "account.upgraded")
        #expect(entries.compactMap { $0.link?.rawValue } == ["lnk_00000000000000000000000001"])
        #expect(try Set(contents()).subtracting(kept).count == 2, "the event, and its line in the audit log")
        #expect(throws: (any Error).self) { try bench.stranger().rows("SELECT 1 FROM username_try") }
        // It continues as one that was made today.
        #expect(try await opened.linked("account-3", "eve", kind: .upgrade).externalID == "account-3")
        #expect(try await opened.database.maintain(at: opened.now).links == 0)
        opened.database.close()
    }
}

extension StrangerRow.Value {
    /// To be written elsewhere.
    fileprivate var argument: Any? {
        switch self {
        case .null: nil
        case .integer(let number): number
        case .real(let number): number
        case .text(let text): text
        case .blob(let bytes): bytes
        }
    }
}
