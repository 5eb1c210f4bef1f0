package import Coding
import Crypto

extension JournalEntry {
    /// As in the API: ids and names of fields, never values.
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", id.rawValue)
            writer.member("type", kind.rawValue)
            writer.member("time", time)
            writer.name("data")
            writer.object(writeSubject)
        }
    }

    /// The body of this event's webhook. The same bytes on every attempt.
    package var webhookBody: [UInt8] {
        Accounts.webhookBody(kind.rawValue, at: time) { writer in
            writer.member("id", id.rawValue)
            writeSubject(&writer)
        }
    }

    /// The members about the user, and optional members that apply.
    private func writeSubject(_ writer: inout JSONWriter) {
        writer.member("user", user.rawValue)
        if let externalID { writer.member("externalID", externalID) }
        if let session { writer.member("session", session.rawValue) }
        if let cause { writer.member("cause", cause.rawValue) }
        if let into { writer.member("into", into.rawValue) }
        if let link { writer.member("link", link.rawValue) }
        if let client { writer.member("clientID", client.rawValue) }
        if !fields.isEmpty { writer.member("fields", .texts(fields)) }
    }
}

/// The body of a webhook (Standard Webhooks, "Payload structure").
func webhookBody(_ type: String, at time: Timestamp, _ data: (inout JSONWriter) -> Void) -> [UInt8] {
    JSONWriter.object { writer in
        writer.member("type", type)
        writer.member("timestamp", time)
        writer.name("data")
        writer.object(data)
    }
}

/// A key that signs webhooks: `whsec_` and 24 to 64 bytes in base64 (Standard Webhooks, "Signature scheme").
package struct WebhookSecret: Sendable {
    package static let prefix = "whsec_"
    /// The length of a key in bytes.
    package static let sizes = 24...64

    private let key: SecretBytes

    package enum Flaw: Hashable, Sendable {
        case prefix, base64, size
    }

    /// - Parameter line: counted from 1.
    package init(parsing text: String, line: Int = 1) throws(WebhookSecrets.Flaw) {
        let bytes = Array(text.utf8)
        guard bytes.starts(with: Self.prefix.utf8) else { throw .invalid(line: line, .prefix) }
        guard var key = Base64.decode(Array(bytes.dropFirst(Self.prefix.utf8.count))) else {
            throw .invalid(line: line, .base64)
        }
        guard Self.sizes.contains(key.count) else { throw .invalid(line: line, .size) }
        self.key = SecretBytes(consuming: &key)
    }

    /// - Parameter key: of any length; the key of the published test vector is shorter than a real one may be.
    init(key: [UInt8]) { self.key = SecretBytes(key) }

    /// `v1,` and the base64 of HMAC-SHA-256 over `id.timestamp.body`, with this attempt's seconds since 1970.
    package func signature(id: String, timestamp: Int64, body: [UInt8]) -> String {
        "v1," + Base64.encode(HMACSHA256.authenticate(key: key, message: Array("\(id).\(timestamp).".utf8) + body))
    }
}

/// The active secrets: each signs every webhook, so that a receiver that knows any of them can verify. Never empty.
package struct WebhookSecrets: Sendable {
    /// The most at once; during a rotation there are two.
    package static let maximum = 8

    package let all: [WebhookSecret]

    /// What is wrong with a text of secrets, without quoting it.
    package enum Flaw: Error, Hashable, Sendable {
        case empty, tooMany
        /// Counted from 1.
        case invalid(line: Int, WebhookSecret.Flaw)
    }

    package init(_ secret: WebhookSecret) { all = [secret] }

    /// One secret per line; empty lines and surrounding blanks are ignored.
    package init(parsing text: String) throws(Flaw) {
        var found: [WebhookSecret] = []
        let lines = text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let text = PastedText.value(String(decoding: line, as: UTF8.self))
            if text.isEmpty { continue }
            found.append(try WebhookSecret(parsing: text, line: index + 1))
        }
        guard !found.isEmpty else { throw .empty }
        guard found.count <= Self.maximum else { throw .tooMany }
        all = found
    }

    /// The value of `webhook-signature`.
    package func signatures(id: String, timestamp: Int64, body: [UInt8]) -> String {
        all.map { $0.signature(id: id, timestamp: timestamp, body: body) }.joined(separator: " ")
    }
}
