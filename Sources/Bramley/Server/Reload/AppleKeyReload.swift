internal import AppleID
internal import Coding
internal import Crypto
internal import Logging

/// Reloads our keys at Apple at the operator's request: their IDs, their .p8 files or texts, current and next. All or
/// nothing, and nothing else of the configuration.
struct AppleKeyReload: Sendable {
    /// The team of the running server; only its keys are accepted.
    let teamID: String
    let secrets: ClientSecretMint
    let logger: Logger

    private static let names: Set<String> = [
        "apple.keyID", "apple.privateKeyFile", "apple.privateKey", "apple.nextKeyID", "apple.nextPrivateKeyFile",
        "apple.nextPrivateKey",
    ]

    /// Signs with the keys of the present configuration. If anything is wrong with it, nothing changes.
    func apply(_ loaded: LoadedConfiguration) {
        let apple = loaded.configuration.apple
        guard apple.teamID.isExactly(teamID) else {
            return refuse("apple.teamID", "apple.teamID: is another than the server was started with. Restart it.")
        }
        let keys: ClientSecretKeys
        do throws(KeyError) {
            keys = try Self.keys(apple)
        } catch {
            return refuse("apple.privateKeyFile", "a key that was judged good does not parse: \(error)")
        }
        for warning in loaded.warnings where Self.names.contains(warning.key) {
            logger.warning("configuration", metadata: ["detail": .string(warning.description)])
        }
        let isChanged = secrets.replaceKeys(keys)
        logger.info(
            "Apple client keys reloaded",
            metadata: [
                "key": .string(keys.current.id), "next": .string(keys.next?.id ?? "none"), "changed": "\(isChanged)",
            ])
    }

    private static func keys(_ apple: Configuration.Apple) throws(KeyError) -> ClientSecretKeys {
        let current = try P256PrivateKey(pem: apple.privateKeyPEM.reveal())
        var keys = ClientSecretKeys(current: ClientSecretKey(id: apple.keyID, key: current))
        if let next = apple.nextKey {
            keys.next = ClientSecretKey(
                id: next.keyID, key: try P256PrivateKey(pem: next.privateKeyPEM.reveal()))
        }
        return keys
    }

    /// The present configuration is invalid.
    func refuse(_ failure: ConfigurationFailure) {
        for problem in failure.problems where problem.severity == .error { refuse(problem.key, problem.description) }
    }

    /// - Parameter detail: never contains a secret.
    private func refuse(_ name: String, _ detail: String) {
        logger.error(
            "Apple client keys not reloaded; the previous keys stay in use",
            metadata: ["key": .string(name), "detail": .string(detail)])
    }
}
