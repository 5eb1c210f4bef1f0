internal import Logging

/// What SIGHUP asks for: the configuration is read once more, and of it the keys Apple knows us by, the access
/// rules and the certificate.
struct OperatorReload: Sendable {
    /// What the configuration is read from.
    let input: ConfigurationInput
    let appleKeys: AppleKeyReload
    let accessRules: AccessRulesReload
    /// Nil: the server speaks plain HTTP.
    let certificate: CertificateReload?
    /// What the server was started with.
    let snapshot: ConfigurationSnapshot
    let logger: Logger

    /// The keys that are taken as they are now.
    private static let taken: Set<String> = [
        "apple.keyID", "apple.privateKeyFile", "apple.privateKey", "apple.nextKeyID", "apple.nextPrivateKeyFile",
        "apple.nextPrivateKey", "forwardAuth.rulesFile", "forwardAuth.rules",
    ]
    /// These too, where there is a certificate already.
    private static let takenWithCertificate: Set<String> = [
        "server.certificateFile", "server.certificate", "server.privateKeyFile", "server.privateKey",
    ]

    func reload() {
        let glance = certificate?.glance()
        do throws(ConfigurationFailure) {
            let loaded = try ConfigurationLoader.load(input)
            accessRules.apply(loaded)
            appleKeys.apply(loaded)
            if let certificate, let glance { certificate.apply(loaded.configuration, since: glance) }
            reportOthers(loaded.configuration)
        } catch {
            accessRules.refuse(error)
            appleKeys.refuse(error)
            // A mistake elsewhere is no reason to serve a certificate that runs out.
            certificate?.checkNow()
        }
    }

    /// Says which keys have changed and are not taken, compared with what the server was started with.
    private func reportOthers(_ configuration: Configuration) {
        let taken = certificate == nil ? Self.taken : Self.taken.union(Self.takenWithCertificate)
        let names = configuration.snapshot.changes(since: snapshot).filter { !taken.contains($0) }
        guard !names.isEmpty else { return }
        logger.warning(
            "configuration change needs a restart", metadata: ["keys": .string(names.joined(separator: ", "))])
    }
}
