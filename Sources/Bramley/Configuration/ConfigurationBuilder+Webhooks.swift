import RelyingParty

extension ConfigurationBuilder {
    /// A section that may be left out. Nil means a problem; a value of nil means that nothing was given.
    struct WebhooksSection { var value: Configuration.Webhooks? }

    func webhooks() -> WebhooksSection? {
        let urls = webhookAddresses()
        let events = webhookEvents()
        let secrets = signingSecrets(of: "webhooks", areWanted: urls?.isEmpty == false)
        guard let urls, let events, let secrets else { return nil }
        guard !urls.isEmpty else {
            for key in ["webhooks.secretFile", "webhooks.secret", "webhooks.events"] where values.isGiven(key) {
                values.fail(
                    key, "is given without webhooks.url, so nothing would be sent.",
                    "Name an address in webhooks.url, or remove the key.")
                return nil
            }
            return WebhooksSection(value: nil)
        }
        return secrets.value.map {
            WebhooksSection(value: Configuration.Webhooks(urls: urls, secrets: $0, events: events))
        }
    }

    private func webhookAddresses() -> [String]? {
        guard let texts = values.list("webhooks.url") else { return nil }
        let addresses = texts.compactMap { secureAddress("webhooks.url", $0) }
        guard addresses.count == texts.count else { return nil }
        // A path is always sent; the address with and without it would be two endpoints.
        let urls = addresses.map { $0.path.isEmpty ? $0.text + "/" : $0.text }
        guard Set(urls).count == urls.count else {
            values.fail("webhooks.url", "names an address twice.", "Name each once.")
            return nil
        }
        return urls
    }

    private func webhookEvents() -> Set<JournalEntry.Kind>? {
        guard let names = values.list("webhooks.events") else { return nil }
        guard !names.isEmpty else {
            values.fail(
                "webhooks.events", "is empty, so that nothing would be sent.",
                "Remove the key to send every event, or name some.")
            return nil
        }
        let known = JournalEntry.Kind.allCases.map(\.rawValue)
        var kinds: Set<JournalEntry.Kind> = []
        for name in names {
            guard let kind = JournalEntry.Kind(rawValue: name) else {
                let nearest = ConfigurationTable.nearest(to: name, among: known)
                values.fail(
                    "webhooks.events", "names \(name.quoted), which is no event.",
                    nearest.map { "Did you mean \($0.quoted)?" } ?? "Write some of \(known.joined(separator: ", ")).")
                return nil
            }
            kinds.insert(kind)
        }
        return kinds
    }
}
