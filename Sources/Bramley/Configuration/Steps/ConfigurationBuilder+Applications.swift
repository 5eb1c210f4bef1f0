import Accounts
import AppleID
import Coding
import Crypto
import Web

// What applications receive: assertions and events.
extension ConfigurationBuilder {
    /// The longest audience, in bytes: every assertion contains it, and assertions are in header fields.
    static let longestAudience = 256
    /// The most audiences; assertions for all of them are kept per session.
    static let mostAudiences = 16
    /// Other meanings of `?assertion=`.
    private static let flags = ["true", "false"]

    func readAudiences(_ configuration: inout Configuration) {
        let (key, rsaKey) = ("assertion.audience", "assertion.rs256Audiences")
        let (audiences, rsa) = (list(key), list(rsaKey))
        guard let audiences, let rsa else { return }
        for audience in audiences {
            guard audience.isVisibleASCII, audience.utf8.count <= Self.longestAudience else {
                return fail(
                    key, "is not a plain name.",
                    "Write at most \(Self.longestAudience) visible ASCII characters, such as "
                        + "\"https://api.example.com\".")
            }
            guard !Self.flags.contains(audience) else {
                return fail(
                    key, "is \(audience.quoted), which asks for the first audience or for none.",
                    "Write another name, such as \"https://api.example.com\".")
            }
        }
        guard audiences.count <= Self.mostAudiences else {
            return fail(key, "names \(audiences.count).", "Name at most \(Self.mostAudiences).")
        }
        if let unknown = rsa.first(where: { !audiences.contains($0) }) {
            return fail(
                rsaKey, "names \(unknown.quoted), which is not in \(key).",
                "Write the audience as it is there, or add it there.")
        }
        configuration.web.assertionAudiences = audiences.map {
            AssertionAudience(name: $0, algorithm: rsa.contains($0) ? .rs256 : .es256)
        }
    }

    /// RFC 8725 §3.12: an assertion must not be confused with Apple's tokens, or with those we send to Apple.
    func checkAudiences(_ configuration: Configuration) {
        let apple = configuration.apple
        let others = [apple.servicesID] + apple.bundleIDs + apple.issuers
        guard let name = configuration.web.assertionAudiences.map(\.name).first(where: others.contains) else { return }
        report(
            "assertion.audience", "is \(name.quoted), which is the audience of other tokens.",
            "Write a name of the backends that read assertions, such as \"https://api.example.com\".")
    }

    /// Only an operator can make somebody an operator; only Apple says who is in an organization.
    func checkOperators(_ groups: [String]) {
        guard let group = groups.first(where: UserLimits.isOrganization) else { return }
        report(
            "operator.groups", "names \(group.quoted), an organization at Apple, whose members cannot be operators.",
            "Name a group that you assign, such as \"admins\".")
    }

    /// Empty when no address is configured, and after a problem.
    func webhooks() -> [Configuration.Webhook] {
        let urls = webhookAddresses()
        let events = webhookEvents(urls)
        let secrets = signingSecrets(count: urls?.count)
        guard let urls, let events, let secrets else { return [] }
        let others = ["webhooks.secretFile", "webhooks.secret", "webhooks.events"]
        if urls.isEmpty, let key = others.first(where: isGiven) {
            report(
                key, "is given without webhooks.url, so nothing would be sent.",
                "Name an address in webhooks.url, or remove the key.")
        }
        return urls.enumerated().map { index, url in
            Configuration.Webhook(
                url: url, secrets: secrets.count == 1 ? secrets[0] : secrets[index], events: events[url] ?? [])
        }
    }

    /// The events for each address, even if the secrets have problems.
    func webhookKinds() -> [String: Set<JournalEntry.Kind>]? { webhookAddresses().flatMap { webhookEvents($0) } }

    private func webhookAddresses() -> [String]? {
        let key = "webhooks.url"
        guard let texts = list(key) else { return nil }
        let urls = texts.compactMap { reading(key, $0, Self.webhookAddress) }
        guard urls.count == texts.count else { return nil }
        guard Set(urls).count == urls.count else {
            fail(key, "has an address twice.", "List each once.")
            return nil
        }
        return urls
    }

    /// A path is always sent: the address with and without it would be two endpoints.
    private static func webhookAddress(_ text: String) throws(InputFlaw) -> String {
        let address = try WebAddress.secure(text, isEndpoint: true)
        return address.origin + (address.path.isEmpty ? "/" : address.path) + address.query
    }

    private func webhookEvents(_ urls: [String]?) -> [String: Set<JournalEntry.Kind>]? {
        let key = "webhooks.events"
        return list(key).flatMap {
            reading(key, $0) { entries throws(InputFlaw) in try Self.webhookEvents(entries, urls) }
        }
    }

    /// By address. An entry is an event type for every address without its own entry, or an address followed by its
    /// types, separated by blanks.
    /// - Parameter urls: nil after a problem with them, which is reported already.
    private static func webhookEvents(
        _ entries: [String], _ urls: [String]?
    ) throws(InputFlaw) -> [String: Set<JournalEntry.Kind>]? {
        guard !entries.isEmpty else {
            throw InputFlaw("is empty, so nothing would be sent.", "Remove the key to send every event, or name some.")
        }
        var common: Set<JournalEntry.Kind> = []
        var own: [String: Set<JournalEntry.Kind>] = [:]
        for entry in entries {
            guard entry.contains("://") else {
                common.insert(try eventKind(entry))
                continue
            }
            let words = entry.split(separator: " ").map(String.init)
            let url = try webhookAddress(words[0])
            let shown = WebhookEndpoint.name(of: words[0]).quoted
            guard let urls else { return nil }
            guard urls.contains(url) else {
                throw InputFlaw(
                    "names \(shown), which is not in webhooks.url.",
                    "Write the address as it is there, or add it there.")
            }
            guard own[url] == nil else {
                throw InputFlaw("has two entries for \(shown).", "Write all types for it in one.")
            }
            guard words.count > 1 else {
                throw InputFlaw(
                    "names no events for \(shown).", "Write event types after the address, separated by spaces.")
            }
            own[url] = []
            for word in words.dropFirst() { own[url]?.insert(try eventKind(word)) }
        }
        if common.isEmpty { common = Set(JournalEntry.Kind.allCases) }
        return Dictionary(uniqueKeysWithValues: (urls ?? []).map { ($0, own[$0] ?? common) })
    }

    private static func eventKind(_ name: String) throws(InputFlaw) -> JournalEntry.Kind {
        if let kind = JournalEntry.Kind(rawValue: name) { return kind }
        let known = JournalEntry.Kind.allCases.map(\.rawValue)
        throw InputFlaw(
            "names \(name.quoted), which is not an event.",
            ConfigurationTable.nearest(to: name, among: known).map { "Did you mean \($0.quoted)?" }
                ?? "Write some of \(known.joined(separator: ", ")).")
    }

    /// One for all addresses, or one for each in the same order; none when nothing is signed. Nil means a problem.
    func signingSecrets(count: Int?) -> [Configuration.SecretSource<WebhookSecrets>]? {
        let (fileKey, inlineKey) = ("webhooks.secretFile", "webhooks.secret")
        guard let texts = givenTexts(fileKey) else { return nil }
        let sources = texts.compactMap { $0.flatMap(signingSecret) }
        guard sources.count == texts.count, let count else { return nil }
        guard !sources.isEmpty || count == 0 else {
            if !isRefused(inlineKey) {
                failMissing(fileKey, "Name a file with a secret: \(Self.secretAdvice)")
            }
            return nil
        }
        guard count == 0 || sources.count == 1 || sources.count == count else {
            fail(
                isGiven(inlineKey) ? inlineKey : fileKey,
                "names \(sources.count), and webhooks.url names \(count) \(count == 1 ? "address" : "addresses").",
                "Name one for all addresses, or one for each in the same order.")
            return nil
        }
        return sources
    }

    private func signingSecret(_ given: GivenText) -> Configuration.SecretSource<WebhookSecrets>? {
        do throws(WebhookSecrets.Flaw) {
            let secrets = try WebhookSecrets(parsing: given.text)
            return given.path.map { .file(path: $0) } ?? .inline(secrets)
        } catch {
            fail(
                given.key, given.subject + error.fault,
                "Write one per line, \(WebhookSecret.prefix) and "
                    + "\(WebhookSecret.sizes.lowerBound) to \(WebhookSecret.sizes.upperBound) bytes in base64: "
                    + Self.secretAdvice)
            return nil
        }
    }

    private static let secretAdvice =
        "(umask 077; echo \"whsec_$(openssl rand -base64 32)\" > webhooks.secret) creates one."
}
