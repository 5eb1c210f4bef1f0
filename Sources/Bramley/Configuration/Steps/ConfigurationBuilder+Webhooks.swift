import Accounts
import Web

// `webhooks`, which call the application.
extension ConfigurationBuilder {
    /// Nil when no address is configured, and after a problem.
    func webhooks() -> Configuration.Webhooks? {
        let urls = webhookAddresses()
        let events = webhookEvents(urls)
        let secrets = signingSecrets(of: "webhooks", count: urls?.count)
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
        guard let texts = values.list("webhooks.url") else { return nil }
        let urls = texts.compactMap { webhookAddress("webhooks.url", $0) }
        guard urls.count == texts.count else { return nil }
        guard Set(urls).count == urls.count else {
            values.fail("webhooks.url", "names an address twice.", "Name each once.")
            return nil
        }
        return urls
    }

    /// A path is always sent: the address with and without it would be two endpoints.
    private func webhookAddress(_ key: String, _ text: String) -> String? {
        secureAddress(key, text, isEndpoint: true).map {
            $0.origin + ($0.path.isEmpty ? "/" : $0.path) + $0.query
        }
    }

    /// Which events go where.
    private struct WebhookEvents {
        /// For every address without its own entry.
        var all: Set<JournalEntry.Kind>
        /// By address.
        var own: [String: Set<JournalEntry.Kind>]
    }

    /// An entry is an event type, or an address followed by its own types, separated by blanks.
    private func webhookEvents(_ urls: [String]?) -> WebhookEvents? {
        let key = "webhooks.events"
        guard let entries = values.list(key) else { return nil }
        guard !entries.isEmpty else {
            values.fail(
                key, "is empty, so nothing would be sent.",
                "Remove the key to send every event, or name some.")
            return nil
        }
        var events = WebhookEvents(all: [], own: [:])
        for entry in entries {
            guard entry.contains("://") else {
                guard let kind = eventKind(entry) else { return nil }
                events.all.insert(kind)
                continue
            }
            let words = entry.split(separator: " ").map(String.init)
            guard let url = webhookAddress(key, words[0]) else { return nil }
            let shown = WebhookEndpoint.name(of: words[0])
            guard let urls else { return nil }
            guard urls.contains(url) else {
                values.fail(
                    key, "names \(shown.quoted), which is not in webhooks.url.",
                    "Write the address as it is there, or add it there.")
                return nil
            }
            guard events.own[url] == nil else {
                values.fail(key, "has two entries for \(shown.quoted).", "Write all types for it in one.")
                return nil
            }
            guard words.count > 1 else {
                values.fail(
                    key, "names no events for \(shown.quoted).",
                    "Write event types after the address, separated by spaces.")
                return nil
            }
            var kinds: Set<JournalEntry.Kind> = []
            for word in words.dropFirst() {
                guard let kind = eventKind(word) else { return nil }
                kinds.insert(kind)
            }
            events.own[url] = kinds
        }
        if events.all.isEmpty { events.all = Set(JournalEntry.Kind.allCases) }
        return events
    }

    private func eventKind(_ name: String) -> JournalEntry.Kind? {
        if let kind = JournalEntry.Kind(rawValue: name) { return kind }
        let known = JournalEntry.Kind.allCases.map(\.rawValue)
        values.fail(
            "webhooks.events", "names \(name.quoted), which is not an event.",
            ConfigurationTable.nearest(to: name, among: known).map { "Did you mean \($0.quoted)?" }
                ?? "Write some of \(known.joined(separator: ", ")).")
        return nil
    }
}
