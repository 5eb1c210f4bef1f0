import Coding
import Crypto
import RelyingParty
import Testing

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
            #expect(SessionRows(at: Self.now, style).row(session(agent, kind))[3] == text)
            #expect(SessionRows(at: Self.now, style).rowOfOne(session(agent, kind))[2] == text)
        }
    }

    @Test(
        arguments: [
            (-5, "now"), (0, "now"), (59, "now"), (60, "1m"), (3_599, "59m"), (3_600, "1h"), (86_399, "23h"),
            (86_400, "1d"), (86_400 * 400, "400d"),
        ] as [(Int64, String)])
    func seen(ago: Int64, text: String) {
        let rows = SessionRows(at: Self.now, .terminal(width: 80, bold: false))
        #expect(rows.row(session("x", ago: ago))[4] == text)
    }

    @Test("At 80 columns who, on what and when; the rest where there is room", arguments: [80, 100, 200])
    func sessions(width: Int) {
        let rows = SessionRows(at: Self.now, .terminal(width: width, bold: false))
        let table = TextTable(SessionRows.ofAll, rows: [rows.row(session(Self.safari, ago: 300))])
        let lines = table.render(.terminal(width: width, bold: false)).split(separator: "\n").map(String.init)
        #expect(lines.allSatisfy { TerminalText.width($0) <= width })
        #expect(lines[1].hasPrefix("ses_00000000000000000000000001  usr_00000000000000000000000002  "))
        #expect(lines[1].contains(width == 80 ? "Safari on…  5m" : "Safari on Mac  5m"))
        #expect(lines[0].contains("CREATED") == (width > 150))
        #expect(lines[0].contains("ADDRESS") == (width > 150))
    }

    @Test("A name and an address are not cut for groups and dates", arguments: 90...200)
    func people(width: Int) {
        let row: [String?] = [
            "usr_00000000000000000000000002", "active", "Wilhelmina Featherstone",
            "qx7k2m9p4d@privaterelay.appleid.com",
            "admins,staff", "2026-01-02 03:04Z", "customer-1234",
        ]
        let lines = TextTable(UserRows.columns, rows: [row]).render(.terminal(width: width, bold: false))
            .split(separator: "\n").map(String.init)
        let isWhole = lines[1].contains("Wilhelmina Featherstone  qx7k2m9p4d@privaterelay.appleid.com")
        #expect(isWhole == (width >= 100))
        #expect(lines[0].contains("GROUPS") == (width >= 114))
        #expect(lines[0].contains("CREATED") == (width >= 133))
        #expect(lines[0].contains("EXTERNAL ID") == (width >= 148))
    }
}
