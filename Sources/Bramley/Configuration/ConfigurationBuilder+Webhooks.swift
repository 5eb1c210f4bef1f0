import RelyingParty

extension ConfigurationBuilder {
    /// A section that may be left out. Nil means a problem; a value of nil means that nothing was given.
    struct WebhooksSection { var value: Configuration.Webhooks? }

    func webhooks() -> WebhooksSection? {
        let urls = webhookAddresses()
        let events = webhookEvents()
        let secrets = webhookSecrets(areWanted: urls?.isEmpty == false)
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

    /// Nil means a problem; a value of nil means that nothing was given.
    private struct Secrets { var value: Configuration.WebhookSecretSource? }

    private func webhookSecrets(areWanted: Bool) -> Secrets? {
        let file = values.text("webhooks.secretFile")
        let inline = values.text("webhooks.secret")
        guard !refuseTwins("webhooks.secretFile", "webhooks.secret") else { return nil }
        if let file {
            guard let text = readSecret("webhooks.secretFile", file),
                webhookSecrets(text, "webhooks.secretFile", subject: "\(file.quoted) ") != nil
            else { return nil }
            return Secrets(value: .file(path: file))
        }
        if let inline {
            // The environment cannot always carry line ends: \n is taken for one.
            return webhookSecrets(inline.replacing("\\n", with: "\n"), "webhooks.secret", subject: "").map {
                Secrets(value: .inline($0))
            }
        }
        let isThere = values.isGiven("webhooks.secretFile") || values.isGiven("webhooks.secret")
        guard areWanted, !isThere else { return isThere ? nil : Secrets(value: nil) }
        if !values.isRefused("webhooks.secret") {
            values.failMissing("webhooks.secretFile", "Name a file with a secret: \(Self.secretAdvice)")
        }
        return nil
    }

    private static let secretAdvice =
        "(umask 077; echo \"whsec_$(openssl rand -base64 32)\" > webhooks.secret) makes one."

    private func webhookSecrets(_ text: String, _ key: String, subject: String) -> WebhookSecrets? {
        do throws(WebhookSecrets.Flaw) {
            return try WebhookSecrets(parsing: text)
        } catch {
            values.fail(
                key, subject + error.fault,
                "Write one a line, \(WebhookSecret.prefix) and "
                    + "\(WebhookSecret.sizes.lowerBound) to \(WebhookSecret.sizes.upperBound) bytes in base64: "
                    + Self.secretAdvice)
            return nil
        }
    }
}
