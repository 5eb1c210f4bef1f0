internal import Accounts
internal import AppleID
internal import Coding
internal import Crypto
internal import Logging
internal import Storage
internal import Synchronization
internal import Web

/// SIGHUP: applies the configuration's Apple keys, access rules, hosts of client documents and certificate, each as a
/// whole or not at all.
final class OperatorReload: Sendable {
    private let input: ConfigurationInput
    private let started: Configuration
    private let logger: Logger
    let secrets: ClientSecretMint
    let rules: CurrentAccessRules
    private let digest: Mutex<Digest256?>
    let certificate: CertificateReload?
    private let documents: ClientDocuments

    init(
        _ base: ServerBase, _ input: ConfigurationInput, secrets: ClientSecretMint, certificate: CertificateReload?,
        documents: ClientDocuments
    ) {
        self.input = input
        started = base.configuration
        logger = base.runtime.logger
        self.secrets = secrets
        rules = CurrentAccessRules(started.web.accessRules)
        digest = Mutex(started.rulesDigest)
        self.certificate = certificate
        self.documents = documents
    }

    private static let appleKeys: Set<String> = [
        "apple.keyID", "apple.privateKeyFile", "apple.privateKey", "apple.nextKeyID", "apple.nextPrivateKeyFile",
        "apple.nextPrivateKey",
    ]
    private static let certificateKeys: Set<String> = [
        "server.certificateFile", "server.certificate", "server.privateKeyFile", "server.privateKey",
    ]

    func reload() {
        let glance = certificate?.glance()
        do throws(ConfigurationFailure) {
            let loaded = try ConfigurationLoader.load(input)
            applyRules(loaded)
            applyAppleKeys(loaded)
            // Housekeeping ends what clients of removed hosts hold.
            documents.hosts = loaded.configuration.clientDocuments
            if let certificate, let glance { certificate.apply(loaded.configuration, since: glance) }
            reportOthers(loaded.configuration)
        } catch {
            // The present configuration is invalid: nothing changes.
            let errors = error.problems.filter { $0.severity == .error }
            for problem in errors where Self.isAboutRules(problem) || rules.current != nil {
                refuseRules(problem.key, problem.description)
            }
            for problem in errors { refuseAppleKeys(problem.key, problem.description) }
            // A mistake elsewhere is no reason to serve a certificate that expires.
            certificate?.checkNow()
        }
    }

    /// Logs which keys have changed since the start and are not applied.
    private func reportOthers(_ configuration: Configuration) {
        let taken = Self.appleKeys.union(["forwardAuth.rulesFile", "forwardAuth.rules", "openid.clientDocuments"])
            .union(certificate == nil ? [] : Self.certificateKeys)
        let names = ConfigurationTable.keys.map(\.name).filter { name in
            !taken.contains(name) && configuration.digests[name] != started.digests[name]
        }
        guard !names.isEmpty else { return }
        logger.warning(
            "configuration change needs a restart", metadata: ["keys": .string(names.joined(separator: ", "))])
    }

    private func applyAppleKeys(_ loaded: LoadedConfiguration) {
        let apple = loaded.configuration.apple
        guard apple.teamID.isExactly(started.apple.teamID) else {
            return refuseAppleKeys(
                "apple.teamID", "apple.teamID: has changed since the server was started. Restart it.")
        }
        let keys: ClientSecretKeys
        do throws(KeyError) {
            keys = try apple.signingKeys()
        } catch {
            return refuseAppleKeys("apple.privateKeyFile", "a key that passed the checks does not parse: \(error)")
        }
        for warning in loaded.warnings where Self.appleKeys.contains(warning.key) {
            logger.configurationWarning(warning.description)
        }
        let isChanged = secrets.replaceKeys(keys)
        logger.info(
            "Apple client keys reloaded",
            metadata: [
                "key": .string(keys.current.id), "next": .string(keys.next?.id ?? "none"),
                "changed": .stringConvertible(isChanged),
            ])
    }

    /// - Parameter detail: never contains a secret.
    private func refuseAppleKeys(_ key: String, _ detail: String) {
        logger.error(
            "Apple client keys not reloaded; the previous keys stay in use",
            metadata: ["key": .string(key), "detail": .string(detail)])
    }

    /// SHA-256 of the text of the rules in force; nil without rules.
    var rulesFingerprint: Digest256? { digest.withLock { $0 } }

    private func applyRules(_ loaded: LoadedConfiguration) {
        let configuration = loaded.configuration
        let new = configuration.web.accessRules
        guard new != nil || rules.current != nil else { return }
        // Rules for a proxy that is not trusted yet, or uses another style, would refuse everybody.
        guard configuration.server.trustedProxies == started.server.trustedProxies,
            configuration.web.forwardAuth == started.web.forwardAuth
        else {
            return refuseRules(
                "forwardAuth.rulesFile",
                "server.trustedProxies or forwardAuth.style has changed as well. Restart bramley serve.")
        }
        for warning in loaded.warnings where Self.isAboutRules(warning) {
            logger.configurationWarning(warning.description)
        }
        let isChanged = rules.replace(with: new)
        digest.withLock { $0 = configuration.rulesDigest }
        logger.info(
            "access rules reloaded",
            metadata: [
                "rules": .stringConvertible(new?.rules.count ?? 0), "changed": .stringConvertible(isChanged),
            ])
    }

    private func refuseRules(_ key: String, _ detail: String) {
        logger.error(
            "access rules not reloaded; the previous rules stay in force",
            metadata: ["key": .string(key), "detail": .string(detail)])
    }

    private static func isAboutRules(_ problem: ConfigurationProblem) -> Bool {
        problem.key.hasPrefix("forwardAuth.")
    }
}
