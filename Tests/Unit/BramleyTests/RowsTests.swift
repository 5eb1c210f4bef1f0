import Coding
import Crypto
import Testing

@testable import Accounts
@testable import Bramley

/// What `users list` and `sessions list` show at the widths terminals have.
@Suite struct RowsTests {
    private static let now = Timestamp(seconds: 1_800_000_000)

    private func session(_ agent: String, _ kind: SessionKind = .browser, ago seconds: Int64 = 0) -> Session {
        Session(
            id: SessionID(unchecked: "ses_00000000000000000000000001"), tokenHash: SHA256.hash(utf8: ""), kind: kind,
            user: UserID(unchecked: "usr_00000000000000000000000002"), clientID: ClientID("com.example.web"),
            device: Device(userAgent: agent, address: "2001:db8:1234:5678:9abc:def0:1234:5678"), issuedAt: Self.now,
            createdAt: Self.now, lastSeenAt: Timestamp(seconds: Self.now.seconds - seconds), expiresAt: Self.now)
    }

    private static let safari =
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 "
        + "Safari/605.1.15"

    @Test(
        "A session's device is what the account page says",
        arguments: [
            (safari, SessionKind.browser, "Safari on Mac"), ("x", .browser, "Unknown browser"),
            ("Example/1 CFNetwork", .native, "App"), ("curl/8.1", .browser, "curl"),
        ])
    func device(agent: String, kind: SessionKind, text: String) {
        for style in [TextTable.Style.piped, .terminal(width: 80, bold: false)] {
            let all = TextTable(SessionRows.ofAll(at: Self.now, style), [(session(agent, kind), nil)], style)
            #expect(all.rows[0][4] == text)
            let one = TextTable(SessionRows.ofOne(at: Self.now, style), [session(agent, kind)], style)
            #expect(one.rows[0][1] == text)
        }
    }

    @Test(
        arguments: [
            (-5, "now"), (0, "now"), (59, "now"), (60, "1m"), (3_599, "59m"), (3_600, "1h"), (86_399, "23h"),
            (86_400, "1d"), (86_400 * 400, "400d"),
        ] as [(Int64, String)])
    func seen(ago: Int64, text: String) {
        let style = TextTable.Style.terminal(width: 80, bold: false)
        let table = TextTable(SessionRows.ofOne(at: Self.now, style), [session("x", ago: ago)], style)
        #expect(table.rows[0][2] == text)
    }

    private static let person = User(
        id: UserID(unchecked: "usr_00000000000000000000000002"), state: .active,
        name: PersonName(given: "Wilhelmina", family: "Featherstone"),
        email: EmailAddress(address: "qx7k2m9p4d@privaterelay.appleid.com", isVerified: true, isPrivate: true),
        appleSubject: AppleSubject("000000.a"), createdAt: now)

    @Test("Both ids of a session are whole at every width", arguments: 80...200)
    func sessions(width: Int) {
        let style = TextTable.Style.terminal(width: width, bold: false)
        let table = TextTable(
            SessionRows.ofAll(at: Self.now, style), [(session(Self.safari, ago: 300), Self.person)], style)
        let lines = table.render(style).split(separator: "\n").map(String.init)
        #expect(lines[1].hasPrefix("ses_00000000000000000000000001  usr_00000000000000000000000002  Wilhelmin"))
        #expect(lines[1].contains("5m"))
        #expect(lines.allSatisfy { TerminalText.width($0) <= width })
        if width == 80 { #expect(table.hidden(style) == ["EMAIL", "DEVICE", "ADDRESS", "CREATED", "KIND"]) }
    }

    @Test("People's ids and states are whole, and nothing is cut below ten letters", arguments: 80...200)
    func people(width: Int) {
        let row: [String?] = [
            "usr_00000000000000000000000002", "active", "Wilhelmina Featherstone",
            "qx7k2m9p4d@privaterelay.appleid.com",
            "admins,staff", "2026-01-02 03:04Z", "customer-1234",
        ]
        let style = TextTable.Style.terminal(width: width, bold: false)
        let table = TextTable(UserRows.columns.map(\.column), rows: [row])
        let lines = table.render(style).split(separator: "\n").map(String.init)
        #expect(lines[1].hasPrefix("usr_00000000000000000000000002  active  Wilhelmin"))
        #expect(lines[1].contains("qx7k2m9p4"))
        #expect(lines[1].contains("customer-1234") == !table.hidden(style).contains("EXTERNAL ID"))
        #expect(lines.allSatisfy { TerminalText.width($0) <= width })
        if width == 80 { #expect(table.hidden(style) == ["CREATED", "EXTERNAL ID"]) }
        if width >= 148 { #expect(table.hidden(style) == [] && !lines[1].contains("…")) }
    }
}
