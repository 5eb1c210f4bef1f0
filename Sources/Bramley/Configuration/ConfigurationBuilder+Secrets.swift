import RelyingParty

// Secrets that sign, as Standard Webhooks has them.
extension ConfigurationBuilder {
    /// Nil means a problem; a value of nil means that nothing was given.
    struct SigningSecrets { var value: Configuration.WebhookSecretSource? }

    /// `group.secretFile` or `group.secret`.
    /// - Parameter areWanted: without them nothing could be signed that shall be.
    func signingSecrets(of group: String, areWanted: Bool) -> SigningSecrets? {
        let (fileKey, inlineKey) = ("\(group).secretFile", "\(group).secret")
        let file = values.text(fileKey)
        let inline = values.text(inlineKey)
        guard !refuseTwins(fileKey, inlineKey) else { return nil }
        if let file { return signingSecretFile(file, of: group).map { SigningSecrets(value: $0) } }
        if let inline { return inlineSigningSecret(inline, of: group).map { SigningSecrets(value: $0) } }
        let isThere = values.isGiven(fileKey) || values.isGiven(inlineKey)
        guard areWanted, !isThere else { return isThere ? nil : SigningSecrets(value: nil) }
        failMissingSecret(of: group)
        return nil
    }

    /// `group.secretFile` or `group.secret`, each one text or several: one for everything that is signed, or one for each
    /// in the same order.
    /// - Parameter count: how many there are to sign for; nil when that is not known.
    /// - Returns: one or `count`; none when nothing is to be signed. Nil means a problem.
    func signingSecrets(of group: String, count: Int?) -> [Configuration.WebhookSecretSource]? {
        let (fileKey, inlineKey) = ("\(group).secretFile", "\(group).secret")
        let files = values.list(fileKey)
        let inline = values.list(inlineKey)
        guard !refuseTwins(fileKey, inlineKey), let files, let inline else { return nil }
        let found =
            files.map { signingSecretFile($0, of: group) } + inline.map { inlineSigningSecret($0, of: group) }
        let sources = found.compactMap { $0 }
        guard sources.count == found.count, let count else { return nil }
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

    private func signingSecretFile(_ path: String, of group: String) -> Configuration.WebhookSecretSource? {
        let key = "\(group).secretFile"
        guard let text = readSecret(key, path),
            signingSecrets(text, key, subject: "\(path.quoted) ", file: group) != nil
        else { return nil }
        return .file(path: path)
    }

    private func inlineSigningSecret(_ text: String, of group: String) -> Configuration.WebhookSecretSource? {
        // The environment cannot always carry line ends: \n is taken for one.
        signingSecrets(text.replacing("\\n", with: "\n"), "\(group).secret", subject: "", file: group).map {
            .inline($0)
        }
    }

    private static func secretAdvice(_ group: String) -> String {
        "(umask 077; echo \"whsec_$(openssl rand -base64 32)\" > \(group).secret) makes one."
    }

    private func signingSecrets(_ text: String, _ key: String, subject: String, file group: String) -> WebhookSecrets? {
        do throws(WebhookSecrets.Flaw) {
            return try WebhookSecrets(parsing: text)
        } catch {
            values.fail(
                key, subject + error.fault,
                "Write one a line, \(WebhookSecret.prefix) and "
                    + "\(WebhookSecret.sizes.lowerBound) to \(WebhookSecret.sizes.upperBound) bytes in base64: "
                    + Self.secretAdvice(group))
            return nil
        }
    }
}
