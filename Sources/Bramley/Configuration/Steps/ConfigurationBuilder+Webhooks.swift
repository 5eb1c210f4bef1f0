import Accounts
import Web

// `webhooks`, which call the application.
extension ConfigurationBuilder {
    /// Nil when no address is configured, and after a problem.
    func webhooks() -> Configuration.Webhooks? {
        let urls = webhookAddresses()
        let events = webhookEvents(urls)
        let secrets = signingSecrets(count: urls?.count)
        guard let urls, let events, let secrets else { return nil }
        guard !urls.isEmpty else {
            for key in ["webhooks.secretFile", "webhooks.secret", "webhooks.events"] where values.isGiven(key) {
                values.report(
                    key, "is given without webhooks.url, so nothing would be sent.",
                    "Name an address in webhooks.url, or remove the key.")
                break
            }
            return nil
        }
        let endpoints = urls.enumerated().map { index, url in
            Configuration.Webhooks.Endpoint(
                url: url, secrets: secrets.count == 1 ? secrets[0] : secrets[index],
                events: events.own[url] ?? events.all)
        }
        return Configuration.Webhooks(endpoints: endpoints)
    }

    /// The events for each address, even if the secrets have problems.
    func webhookKinds() -> [String: Set<JournalEntry.Kind>]? {
        guard let urls = webhookAddresses(), let events = webhookEvents(urls) else { return nil }
        return Dictionary(uniqueKeysWithValues: urls.map { ($0, events.own[$0] ?? events.all) })
    }

    private func webhookAddresses() -> [String]? {
        let key = "webhooks.url"
        guard let texts = values.list(key) else { return nil }
        let urls = texts.compactMap { text in
            values.reading(key) { () throws(KeyFlaw) in try Self.webhookAddress(text) }
        }
        guard urls.count == texts.count else { return nil }
        guard Set(urls).count == urls.count else {
            values.fail(key, "names an address twice.", "Name each once.")
            return nil
        }
        return urls
    }

    /// A path is always sent: the address with and without it would be two endpoints.
    private static func webhookAddress(_ text: String) throws(KeyFlaw) -> String {
        let address = try WebAddress.secure(text, isEndpoint: true)
        return address.origin + (address.path.isEmpty ? "/" : address.path) + address.query
    }

    /// Which events go where.
    private struct WebhookEvents {
        /// For every address without its own entry.
        var all: Set<JournalEntry.Kind>
        /// By address.
        var own: [String: Set<JournalEntry.Kind>]
    }

    private func webhookEvents(_ urls: [String]?) -> WebhookEvents? {
        let key = "webhooks.events"
        return values.list(key).flatMap { entries in
            values.reading(key) { () throws(KeyFlaw) in try Self.webhookEvents(entries, urls) }
        }
    }

    /// An entry is an event type, or an address followed by its own types, separated by blanks.
    /// - Parameter urls: nil after a problem with them, which is reported already.
    private static func webhookEvents(_ entries: [String], _ urls: [String]?) throws(KeyFlaw) -> WebhookEvents? {
        guard !entries.isEmpty else {
            throw KeyFlaw("is empty, so nothing would be sent.", "Remove the key to send every event, or name some.")
        }
        var events = WebhookEvents(all: [], own: [:])
        for entry in entries {
            guard entry.contains("://") else {
                events.all.insert(try eventKind(entry))
                continue
            }
            let words = entry.split(separator: " ").map(String.init)
            let url = try webhookAddress(words[0])
            let shown = WebhookEndpoint.name(of: words[0]).quoted
            guard let urls else { return nil }
            guard urls.contains(url) else {
                throw KeyFlaw(
                    "names \(shown), which is not in webhooks.url.",
                    "Write the address as it is there, or add it there.")
            }
            guard events.own[url] == nil else {
                throw KeyFlaw("has two entries for \(shown).", "Write all types for it in one.")
            }
            guard words.count > 1 else {
                throw KeyFlaw(
                    "names no events for \(shown).", "Write event types after the address, separated by spaces.")
            }
            var kinds: Set<JournalEntry.Kind> = []
            for word in words.dropFirst() { kinds.insert(try eventKind(word)) }
            events.own[url] = kinds
        }
        if events.all.isEmpty { events.all = Set(JournalEntry.Kind.allCases) }
        return events
    }

    private static func eventKind(_ name: String) throws(KeyFlaw) -> JournalEntry.Kind {
        if let kind = JournalEntry.Kind(rawValue: name) { return kind }
        let known = JournalEntry.Kind.allCases.map(\.rawValue)
        throw KeyFlaw(
            "names \(name.quoted), which is not an event.",
            ConfigurationTable.nearest(to: name, among: known).map { "Did you mean \($0.quoted)?" }
                ?? "Write some of \(known.joined(separator: ", ")).")
    }
}
