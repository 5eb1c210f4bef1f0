internal import Crypto
internal import Logging
internal import Synchronization
internal import Web

/// The access rules, read again at the operator's word: all of them or none.
final class AccessRulesReload: Sendable {
    /// What every loop judges by.
    let current: CurrentAccessRules
    private let digest: Mutex<Digest256?>
    private let logger: Logger

    init(_ rules: Configuration.ForwardAuth, logger: Logger) {
        current = CurrentAccessRules(rules.rules)
        digest = Mutex(rules.digest)
        self.logger = logger
    }

    /// SHA-256 of the text the rules in force were read from; nil without rules.
    var fingerprint: Digest256? { digest.withLock { $0 } }

    /// Puts in force what the configuration names now.
    func take(_ loaded: LoadedConfiguration) {
        let forwardAuth = loaded.configuration.forwardAuth
        guard forwardAuth.rules != nil || current.current != nil else { return }
        for warning in loaded.warnings where Self.isAbout(warning) {
            logger.warning("configuration", metadata: ["detail": .string(warning.description)])
        }
        let isChanged = current.replace(with: forwardAuth.rules)
        digest.withLock { $0 = forwardAuth.digest }
        logger.info(
            "access rules read again",
            metadata: [
                "rules": .string(forwardAuth.rules.map { "\($0.rules.count)" } ?? "none"), "changed": "\(isChanged)",
            ])
    }

    /// The configuration does not hold as it is now: nothing changes.
    func refuse(_ failure: ConfigurationFailure) {
        for problem in failure.problems
        where problem.severity == .error && (Self.isAbout(problem) || current.current != nil) {
            logger.error(
                "access rules not read again; the rules read before stay in force",
                metadata: ["key": .string(problem.key), "detail": .string(problem.description)])
        }
    }

    private static func isAbout(_ problem: ConfigurationProblem) -> Bool { problem.key.hasPrefix("forwardAuth.") }
}
