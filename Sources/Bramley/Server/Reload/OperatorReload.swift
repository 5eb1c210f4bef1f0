internal import AppleID
internal import Logging
internal import Storage

/// SIGHUP: reads the configuration again, and applies its Apple keys, access rules and certificate.
struct OperatorReload: Sendable {
    /// The sources of the configuration.
    let input: ConfigurationInput
    let appleKeys: AppleKeyReload
    let accessRules: AccessRulesReload
    /// Nil: the server speaks plain HTTP.
    let certificate: CertificateReload?
    /// The values the server was started with.
    let snapshot: ConfigurationSnapshot
    let logger: Logger

    init(_ base: ServerBase, _ input: ConfigurationInput, secrets: ClientSecretMint, certificate: CertificateReload?) {
        let configuration = base.configuration
        logger = base.runtime.logger
        self.input = input
        appleKeys = AppleKeyReload(teamID: configuration.apple.teamID, secrets: secrets, logger: logger)
        accessRules = AccessRulesReload(configuration, logger: logger)
        self.certificate = certificate
        snapshot = configuration.snapshot
    }

    /// The keys that are applied.
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
            // A mistake elsewhere is no reason to serve a certificate that expires.
            certificate?.checkNow()
        }
    }

    /// Logs which keys have changed since the start and are not applied.
    private func reportOthers(_ configuration: Configuration) {
        let taken = certificate == nil ? Self.taken : Self.taken.union(Self.takenWithCertificate)
        let names = configuration.snapshot.changes(since: snapshot).filter { !taken.contains($0) }
        guard !names.isEmpty else { return }
        logger.warning(
            "configuration change needs a restart", metadata: ["keys": .string(names.joined(separator: ", "))])
    }
}
