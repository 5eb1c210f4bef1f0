import Accounts
import Crypto

// Sealing keys, and secrets that sign as in Standard Webhooks.
extension ConfigurationBuilder {
    // MARK: Sealing keys

    func readSealingKeys(_ configuration: inout Configuration) {
        if let source = sealingKey(configuration.storage.directory) { configuration.secrets.sealingKey = source }
        let (fileKey, inlineKey) = ("secrets.previousSealingKeyFiles", "secrets.previousSealingKeys")
        let (files, texts) = (values.list(fileKey) ?? [], values.list(inlineKey) ?? [])
        guard !refuseTwins(fileKey, inlineKey) else { return }
        let fromFiles = files.compactMap { path in
            readSecret(fileKey, path).flatMap {
                sealingKey(String(decoding: $0, as: UTF8.self), fileKey, "\(path.quoted) holds")
            }
        }
        let inline = texts.compactMap { sealingKey($0, inlineKey, "holds") }
        configuration.secrets.previousSealingKeys = fromFiles + inline
    }

    private func sealingKey(_ directory: String) -> Configuration.SealingKeySource? {
        let (fileKey, inlineKey) = ("secrets.sealingKeyFile", "secrets.sealingKey")
        let (path, inline) = (values.text(fileKey), values.text(inlineKey))
        guard !refuseTwins(fileKey, inlineKey) else { return nil }
        if let inline { return sealingKey(inline, inlineKey, "holds").map { .inline($0) } }
        guard values.areGood(fileKey, inlineKey, "storage.directory") else { return nil }
        let file = path ?? directory + "/sealing.key"
        // It may be missing: a new database is created with a new key. If it exists, it must be valid.
        if GuardedFile.exists(file), let bytes = readSecret(fileKey, file) {
            _ = sealingKey(String(decoding: bytes, as: UTF8.self), fileKey, "\(file.quoted) holds")
        }
        return .file(path: file)
    }

    private func sealingKey(_ text: String, _ key: String, _ subject: String) -> SecretBytes? {
        if let bytes = SealingKeyText.parse(text) { return bytes }
        values.fail(
            key, "\(subject) no sealing key: the text \(SealingKeyText.flaw(in: text)).",
            "Use 64 hexadecimal digits, as `openssl rand -hex 32` prints them.")
        return nil
    }

    // MARK: Signing secrets

    /// `webhooks.secretFile` or its twin, with one text or several: one for all addresses, or one for each in the same
    /// order.
    /// - Parameter count: the number of addresses; nil when unknown.
    /// - Returns: one or `count`; none when nothing is signed. Nil means a problem.
    func signingSecrets(of group: String, count: Int?) -> [Configuration.WebhookSecretSource]? {
        let (fileKey, inlineKey) = ("\(group).secretFile", "\(group).secret")
        let files = values.list(fileKey)
        let inline = values.list(inlineKey)
        guard !refuseTwins(fileKey, inlineKey), let files, let inline else { return nil }
        let texts =
            files.map { path in
                readSecret(fileKey, path).map { GivenText(key: fileKey, path: path, bytes: $0) }
            }
            + inline.map { GivenText(key: inlineKey, bytes: Array($0.replacing("\\n", with: "\n").utf8)) }
        let sources = texts.compactMap { $0.flatMap { source($0, of: group) } }
        guard sources.count == texts.count, let count else { return nil }
        guard !sources.isEmpty || count == 0 else {
            failMissingSecret(of: group)
            return nil
        }
        guard count == 0 || sources.count == 1 || sources.count == count else {
            values.fail(
                files.isEmpty ? inlineKey : fileKey,
                "names \(sources.count), and \(group).url names \(count) \(count == 1 ? "address" : "addresses").",
                "Name one for all addresses, or one for each in the same order.")
            return nil
        }
        return sources
    }

    private func failMissingSecret(of group: String) {
        guard !values.isRefused("\(group).secret") else { return }
        values.failMissing("\(group).secretFile", "Name a file with a secret: \(Self.secretAdvice(group))")
    }

    private func source(_ given: GivenText, of group: String) -> Configuration.WebhookSecretSource? {
        do throws(WebhookSecrets.Flaw) {
            let secrets = try WebhookSecrets(parsing: given.text)
            return given.path.map { .file(path: $0) } ?? .inline(secrets)
        } catch {
            values.fail(
                given.key, given.subject + error.fault,
                "Write one a line, \(WebhookSecret.prefix) and "
                    + "\(WebhookSecret.sizes.lowerBound) to \(WebhookSecret.sizes.upperBound) bytes in base64: "
                    + Self.secretAdvice(group))
            return nil
        }
    }

    private static func secretAdvice(_ group: String) -> String {
        "(umask 077; echo \"whsec_$(openssl rand -base64 32)\" > \(group).secret) makes one."
    }
}
