import RelyingParty

extension ConfigurationBuilder {
    /// A section that may be left out. Nil means a problem; a value of nil means that nothing was given.
    struct UpgradeSection { var value: Configuration.Upgrade? }

    func upgrade() -> UpgradeSection? {
        let urlKey = "upgrade.verifierURL"
        let url = values.text(urlKey).flatMap { secureAddress(urlKey, $0) }
        let isNamed = values.isGiven(urlKey) || values.isRefused(urlKey)
        let secrets = signingSecrets(of: "upgrade", areWanted: isNamed)
        let changePassword = values.boolean("upgrade.changePassword")
        guard let secrets, let changePassword, isNamed == (url != nil) else { return nil }
        guard let url else {
            let useless =
                ["upgrade.secretFile", "upgrade.secret"].first(where: values.isGiven)
                ?? (changePassword ? "upgrade.changePassword" : nil)
            guard let useless else { return UpgradeSection(value: nil) }
            values.fail(
                useless, "is given without \(urlKey), so that nobody could be asked about a password.",
                "Name the application's verifier in \(urlKey), or remove the key.")
            return nil
        }
        return secrets.value.map {
            UpgradeSection(
                value: Configuration.Upgrade(
                    verifierURL: url.path.isEmpty ? url.text + "/" : url.text, secrets: $0,
                    changePassword: changePassword))
        }
    }
}
