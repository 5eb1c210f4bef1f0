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
        if let file {
            guard let text = readSecret(fileKey, file),
                signingSecrets(text, fileKey, subject: "\(file.quoted) ", file: group) != nil
            else { return nil }
            return SigningSecrets(value: .file(path: file))
        }
        if let inline {
            // The environment cannot always carry line ends: \n is taken for one.
            return signingSecrets(inline.replacing("\\n", with: "\n"), inlineKey, subject: "", file: group).map {
                SigningSecrets(value: .inline($0))
            }
        }
        let isThere = values.isGiven(fileKey) || values.isGiven(inlineKey)
        guard areWanted, !isThere else { return isThere ? nil : SigningSecrets(value: nil) }
        if !values.isRefused(inlineKey) {
            values.failMissing(fileKey, "Name a file with a secret: \(Self.secretAdvice(group))")
        }
        return nil
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
