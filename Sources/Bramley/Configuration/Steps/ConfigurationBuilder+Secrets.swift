import Accounts
import Crypto

// Sealing keys, and secrets that sign as in Standard Webhooks.
extension ConfigurationBuilder {
    // MARK: Sealing keys

    func readSealingKeys(_ configuration: inout Configuration) {
        if let source = sealingKey(configuration.storage.directory) { configuration.secrets.sealingKey = source }
        let previous = givenTexts("secrets.previousSealingKeyFiles") ?? []
        configuration.secrets.previousSealingKeys = previous.compactMap { $0.flatMap(sealingKey) }
    }

    private func sealingKey(_ directory: String) -> Configuration.SealingKeySource? {
        let (fileKey, inlineKey) = ("secrets.sealingKeyFile", "secrets.sealingKey")
        let (path, inline) = (values.text(fileKey), values.text(inlineKey))
        guard !refuseTwins(fileKey, inlineKey) else { return nil }
        if let inline {
            return sealingKey(GivenText(key: inlineKey, bytes: Array(inline.utf8))).map { .inline($0) }
        }
        guard values.areGood(fileKey, inlineKey, "storage.directory") else { return nil }
        let file = path ?? directory + "/sealing.key"
        // It may be missing: a new database is created with a new key. If it exists, it must be valid.
        if GuardedFile.exists(file), let bytes = readSecret(fileKey, file) {
            _ = sealingKey(GivenText(key: fileKey, path: file, bytes: bytes))
        }
        return .file(path: file)
    }

    private func sealingKey(_ given: GivenText) -> SecretBytes? {
        if let bytes = SealingKeyText.parse(given.text) { return bytes }
        values.fail(
            given.key,
            given.subject + "holds no sealing key: the text \(SealingKeyText.flaw(in: given.text)).",
            "Use 64 hexadecimal digits, as `openssl rand -hex 32` prints them.")
        return nil
    }

    // MARK: Signing secrets

    /// `webhooks.secretFile` or its twin, with one text or several: one for all addresses, or one for each in the same
    /// order.
    /// - Parameter count: the number of addresses; nil when unknown.
    /// - Returns: one or `count`; none when nothing is signed. Nil means a problem.
    func signingSecrets(count: Int?) -> [Configuration.WebhookSecretSource]? {
        let (fileKey, inlineKey) = ("webhooks.secretFile", "webhooks.secret")
        guard let texts = givenTexts(fileKey) else { return nil }
        let sources = texts.compactMap { $0.flatMap(signingSecret) }
        guard sources.count == texts.count, let count else { return nil }
        guard !sources.isEmpty || count == 0 else {
            if !values.isRefused(inlineKey) {
                values.failMissing(fileKey, "Name a file with a secret: \(Self.secretAdvice)")
            }
            return nil
        }
        guard count == 0 || sources.count == 1 || sources.count == count else {
            values.fail(
                values.isGiven(inlineKey) ? inlineKey : fileKey,
                "names \(sources.count), and webhooks.url names \(count) \(count == 1 ? "address" : "addresses").",
                "Name one for all addresses, or one for each in the same order.")
            return nil
        }
        return sources
    }

    private func signingSecret(_ given: GivenText) -> Configuration.WebhookSecretSource? {
        do throws(WebhookSecrets.Flaw) {
            let secrets = try WebhookSecrets(parsing: given.text)
            return given.path.map { .file(path: $0) } ?? .inline(secrets)
        } catch {
            values.fail(
                given.key, given.subject + error.fault,
                "Write one a line, \(WebhookSecret.prefix) and "
                    + "\(WebhookSecret.sizes.lowerBound) to \(WebhookSecret.sizes.upperBound) bytes in base64: "
                    + Self.secretAdvice)
            return nil
        }
    }

    private static let secretAdvice =
        "(umask 077; echo \"whsec_$(openssl rand -base64 32)\" > webhooks.secret) makes one."
}
