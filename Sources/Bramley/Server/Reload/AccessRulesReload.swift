internal import Crypto
internal import HTTP
internal import Logging
internal import Sockets
internal import Synchronization
internal import Web

/// Reloads the access rules at the operator's request: all of them or none.
final class AccessRulesReload: Sendable {
    /// The rules that every loop uses.
    let current: CurrentAccessRules
    private let digest: Mutex<Digest256?>
    private let logger: Logger

    private let style: OriginalRequest.Style
    private let trustedProxies: [IPNetwork]

    init(_ configuration: Configuration, logger: Logger) {
        current = CurrentAccessRules(configuration.web.accessRules)
        digest = Mutex(configuration.rulesDigest)
        style = configuration.web.forwardAuth
        trustedProxies = configuration.server.trustedProxies
        self.logger = logger
    }

    /// SHA-256 of the text of the rules in force; nil without rules.
    var fingerprint: Digest256? { digest.withLock { $0 } }

    /// Applies the rules of the present configuration.
    func apply(_ loaded: LoadedConfiguration) {
        let configuration = loaded.configuration
        let rules = configuration.web.accessRules
        guard rules != nil || current.current != nil else { return }
        // Rules for a proxy that is not trusted yet, or uses another style, would refuse everybody.
        guard configuration.server.trustedProxies == trustedProxies, configuration.web.forwardAuth == style else {
            logger.error(
                "access rules not reloaded; the previous rules stay in force",
                metadata: [
                    "key": "forwardAuth.rulesFile",
                    "detail": "server.trustedProxies or forwardAuth.style has changed as well: restart bramley serve",
                ])
            return
        }
        for warning in loaded.warnings where Self.isAbout(warning) {
            logger.warning("configuration", metadata: ["detail": .string(warning.description)])
        }
        let isChanged = current.replace(with: rules)
        digest.withLock { $0 = configuration.rulesDigest }
        logger.info(
            "access rules reloaded",
            metadata: [
                "rules": .string(rules.map { "\($0.rules.count)" } ?? "none"), "changed": "\(isChanged)",
            ])
    }

    /// The present configuration is invalid: nothing changes.
    func refuse(_ failure: ConfigurationFailure) {
        for problem in failure.problems
        where problem.severity == .error && (Self.isAbout(problem) || current.current != nil) {
            logger.error(
                "access rules not reloaded; the previous rules stay in force",
                metadata: ["key": .string(problem.key), "detail": .string(problem.description)])
        }
    }

    private static func isAbout(_ problem: ConfigurationProblem) -> Bool { problem.key.hasPrefix("forwardAuth.") }
}
