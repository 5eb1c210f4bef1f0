package import Coding
package import Crypto

extension JournalEntry {
    /// What an event is about, as members of an object already begun: `user`, and where they apply `externalID`,
    /// `session`, `cause`, `into` and `fields`. Ids and names of fields, never values. The API and webhooks share this
    /// form.
    package func writeSubject(to writer: inout JSONWriter) {
        writer.member("user", user.rawValue)
        if let externalID { writer.member("externalID", externalID) }
        if let session { writer.member("session", session.rawValue) }
        if let cause { writer.member("cause", cause.rawValue) }
        if let into { writer.member("into", into.rawValue) }
        if let link { writer.member("link", link.rawValue) }
        if !fields.isEmpty {
            writer.name("fields")
            writer.beginArray()
            for field in fields { writer.write(field) }
            writer.endArray()
        }
    }

    /// The body of this event's webhook. The same bytes on every attempt.
    package var webhookBody: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("type", kind.rawValue)
        writer.member("timestamp", time)
        writer.name("data")
        writer.beginObject()
        writer.member("id", id.rawValue)
        writeSubject(to: &writer)
        writer.endObject()
        writer.endObject()
        return writer.bytes
    }
}

/// A key that signs webhooks: `whsec_` and 24 to 64 bytes in base64 (Standard Webhooks, "Signature scheme").
package struct WebhookSecret: Sendable {
    package static let prefix = "whsec_"
    /// The length of a key in bytes.
    package static let sizes = 24...64

    private let key: SecretBytes

    /// Why a text is none.
    package enum Flaw: Error, Hashable, Sendable {
        case prefix, base64, size
    }

    package init(parsing text: String) throws(Flaw) {
        let bytes = Array(text.utf8)
        guard bytes.starts(with: Self.prefix.utf8) else { throw .prefix }
        guard var key = Base64.decode(Array(bytes.dropFirst(Self.prefix.utf8.count))) else { throw .base64 }
        guard Self.sizes.contains(key.count) else { throw .size }
        self.key = SecretBytes(consuming: &key)
    }

    /// - Parameter key: of any length; the key of the published test vector is shorter than a real one may be.
    init(key: [UInt8]) {
        self.key = SecretBytes(key)
    }

    /// `v1,` and the base64 of HMAC-SHA-256 over `id.timestamp.body`.
    /// - Parameter timestamp: seconds since 1970 of this attempt.
    package func signature(id: String, timestamp: Int64, body: [UInt8]) -> String {
        "v1," + Base64.encode(HMACSHA256.authenticate(key: key, message: Self.head(id, timestamp) + body))
    }

    /// The same for a body that is secret.
    package func signature(id: String, timestamp: Int64, body: SecretBytes) -> String {
        let message = SecretBytes(Self.head(id, timestamp), body)
        return "v1," + Base64.encode(HMACSHA256.authenticate(key: key, message: message))
    }

    private static func head(_ id: String, _ timestamp: Int64) -> [UInt8] { Array("\(id).\(timestamp).".utf8) }
}

/// The active secrets: each signs every webhook, so that a receiver that knows any of them can verify. Never empty.
package struct WebhookSecrets: Sendable {
    /// The most at once; during a rotation there are two.
    package static let maximum = 8

    package let all: [WebhookSecret]

    /// What is wrong with a text of secrets. Contains nothing of it.
    package enum Flaw: Error, Hashable, Sendable {
        case empty, tooMany
        /// Counted from 1.
        case invalid(line: Int, WebhookSecret.Flaw)
    }

    package init(_ secret: WebhookSecret) {
        all = [secret]
    }

    /// One secret per line; empty lines and surrounding blanks are ignored.
    package init(parsing text: String) throws(Flaw) {
        var found: [WebhookSecret] = []
        let lines = text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let text = PastedText.value(String(decoding: line, as: UTF8.self))
            if text.isEmpty { continue }
            do throws(WebhookSecret.Flaw) {
                found.append(try WebhookSecret(parsing: text))
            } catch {
                throw .invalid(line: index + 1, error)
            }
        }
        guard !found.isEmpty else { throw .empty }
        guard found.count <= Self.maximum else { throw .tooMany }
        all = found
    }

    /// The value of `webhook-signature`.
    package func signatures(id: String, timestamp: Int64, body: [UInt8]) -> String {
        all.map { $0.signature(id: id, timestamp: timestamp, body: body) }.joined(separator: " ")
    }

    /// The same for a body that is secret.
    package func signatures(id: String, timestamp: Int64, body: SecretBytes) -> String {
        all.map { $0.signature(id: id, timestamp: timestamp, body: body) }.joined(separator: " ")
    }
}
