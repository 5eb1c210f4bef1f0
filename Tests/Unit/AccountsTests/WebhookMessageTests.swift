import Coding
import Crypto
import Testing

@testable import Accounts

@Suite struct WebhookMessageTests {
    private static let user = UserID(unchecked: "usr_00000000000000000000000001")
    private static let session = SessionID(unchecked: "ses_00000000000000000000000001")

    private static func entry(
        _ kind: JournalEntry.Kind, session: SessionID? = nil, cause: SessionEndCause? = nil, fields: [String] = [],
        link: LinkID? = nil
    ) -> JournalEntry {
        JournalEntry(
            id: EventID(unchecked: "evt_00000000000000000000000001"), kind: kind,
            time: Timestamp(milliseconds: 1_800_000_000_123), user: user, session: session, cause: cause,
            fields: fields, link: link)
    }

    @Test(
        "the body has the documented form, with only the members that apply",
        arguments: [
            (entry(.userCreated), #"{"id":"evt_00000000000000000000000001","user":"usr_00000000000000000000000001"}"#),
            (
                entry(.sessionEnded, session: session, cause: .revokedByOperator),
                #"{"id":"evt_00000000000000000000000001","user":"usr_00000000000000000000000001","#
                    + #""session":"ses_00000000000000000000000001","cause":"revoked_by_operator"}"#
            ),
            (
                entry(.userUpdated, fields: ["email", "name"]),
                #"{"id":"evt_00000000000000000000000001","user":"usr_00000000000000000000000001","#
                    + #""fields":["email","name"]}"#
            ),
            (
                entry(.accountUpgraded, link: LinkID(unchecked: "lnk_00000000000000000000000001")),
                #"{"id":"evt_00000000000000000000000001","user":"usr_00000000000000000000000001","#
                    + #""link":"lnk_00000000000000000000000001"}"#
            ),
        ])
    func body(entry: JournalEntry, data: String) {
        #expect(
            String(decoding: entry.webhookBody, as: UTF8.self)
                == #"{"type":"\#(entry.kind.rawValue)","timestamp":"2027-01-15T08:00:00.123Z","data":\#(data)}"#)
    }

    /// The example of the specification, "Signature scheme".
    @Test func signsThePublishedVector() throws {
        let key = try #require(Base64.decode(Array("plJ3nmyCDGBKInavdOK15jsl".utf8)))
        let signature = WebhookSecret(key: key).signature(
            id: "msg_loFOjxBNrRLzqYUf", timestamp: 1_731_705_121,
            body: Array(#"{"event_type":"ping","data":{"success":true}}"#.utf8))
        #expect(signature == "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=")
    }

    private static func secret(_ size: Int, _ byte: UInt8 = 7) -> String {
        "whsec_" + Base64.encode([UInt8](repeating: byte, count: size))
    }

    @Test(arguments: [24, 32, 33, 64])
    func acceptsASecret(size: Int) throws {
        #expect(try WebhookSecrets(parsing: Self.secret(size) + "\n").all.count == 1)
    }

    @Test(
        arguments: [
            ("", .empty), (" \n\t\r\n", .empty), (secret(23), .invalid(line: 1, .size)),
            (secret(65), .invalid(line: 1, .size)),
            ("whsec_", .invalid(line: 1, .size)), (String(secret(32).dropFirst(6)), .invalid(line: 1, .prefix)),
            (String(secret(32).dropLast()), .invalid(line: 1, .base64)),
            ("WHSEC_" + secret(32).dropFirst(6), .invalid(line: 1, .prefix)),
            (secret(32) + "\n\n" + secret(32) + " # old", .invalid(line: 3, .base64)),
            (secret(32) + " " + secret(32), .invalid(line: 1, .base64)),
            ([String](repeating: secret(32), count: 9).joined(separator: "\n"), .tooMany),
        ] as [(String, WebhookSecrets.Flaw)])
    func refusesSecrets(text: String, flaw: WebhookSecrets.Flaw) {
        #expect(throws: flaw) { try WebhookSecrets(parsing: text) }
    }

    /// As editors and environments write them.
    @Test(arguments: ["\u{FEFF}%\r\n", "\"%\"", " '%' \r\n", "%"])
    func takesAPastedSecret(form: String) throws {
        #expect(try WebhookSecrets(parsing: form.replacing("%", with: Self.secret(32))).all.count == 1)
    }

    @Test func everyActiveSecretSigns() throws {
        let (old, new) = (Self.secret(32, 1), Self.secret(32, 2))
        let both = try WebhookSecrets(parsing: " \(new)\r\n\r\n\(old)\t\n")
        let parts = both.signatures(id: "evt_1", timestamp: 5, body: [1, 2]).split(separator: " ").map(String.init)
        for (part, secret) in zip(parts, [new, old]) {
            let alone = try WebhookSecret(parsing: secret)
            #expect(alone.signature(id: "evt_1", timestamp: 5, body: [1, 2]) == part)
        }
        #expect(parts.count == 2 && parts[0] != parts[1])
    }

    @Test func secretIsNotPrinted() throws {
        let secrets = try WebhookSecrets(parsing: Self.secret(32))
        var text = "\(secrets)"
        dump(secrets, to: &text)
        #expect(text.contains("<redacted>"))
        #expect(!text.contains("BwcH"))
    }
}
