internal import AppleID
internal import Crypto
internal import Logging

/// The .p8 files of the keys Apple knows us by, read again at the operator's word. Nothing else of the configuration is:
/// the IDs stay, so a file must hold the key of its ID.
struct AppleKeyFiles: Sendable {
    /// One key, and where it was read.
    private struct Source {
        var name: String
        var role: ClientSecretKeys.Role
        var path: String
    }

    private let sources: [Source]
    private let secrets: ClientSecretMint
    private let logger: Logger

    init(configuration: Configuration.Apple, secrets: ClientSecretMint, logger: Logger) {
        self.secrets = secrets
        self.logger = logger
        let files: [(String, ClientSecretKeys.Role, String?)] = [
            ("apple.privateKeyFile", .current, configuration.privateKeyFile),
            ("apple.nextPrivateKeyFile", .next, configuration.nextKey?.privateKeyFile),
        ]
        sources = files.compactMap { name, role, path in path.map { Source(name: name, role: role, path: $0) } }
    }

    /// Signs with what the files hold now. A file that is not usable leaves its key as it is.
    func reload() {
        var keys = secrets.keys
        for source in sources {
            do throws(Refusal) {
                let key = try Self.read(source)
                switch source.role {
                case .current: keys.current = ClientSecretKey(id: keys.current.id, key: key)
                case .next: keys.next = keys.next.map { ClientSecretKey(id: $0.id, key: key) }
                }
            } catch {
                refuse(source.name, error.fault)
            }
        }
        if let next = keys.next, keys.current.holdsSameKey(as: next) {
            return refuse("apple.nextPrivateKeyFile", "holds the same key as apple.privateKeyFile.")
        }
        let isChanged = secrets.replaceKeys(keys)
        logger.info(
            "Apple's .p8 files were read again",
            metadata: ["files": "\(sources.count)", "changed": "\(isChanged)"])
    }

    private func refuse(_ name: String, _ fault: String) {
        logger.error(
            "a .p8 file is not usable; the key read before goes on",
            metadata: ["key": .string(name), "detail": .string(fault)])
    }

    private struct Refusal: Error {
        /// The end of a sentence about the file.
        var fault: String
    }

    private static func read(_ source: Source) throws(Refusal) -> P256PrivateKey {
        let file: GuardedFile
        do throws(GuardedFile.Failure) {
            file = try GuardedFile.read(source.path, maximumBytes: AppleKeyFile.maximumBytes)
        } catch {
            throw Refusal(fault: error.fault)
        }
        let flaw = FileModeRule.problems(
            of: file, at: source.path, key: source.name, source: nil, holdsSecret: true
        ).first { $0.severity == .error }
        if let flaw { throw Refusal(fault: flaw.fault) }
        do throws(KeyError) {
            return try P256PrivateKey(pem: String(decoding: file.bytes, as: UTF8.self))
        } catch {
            throw Refusal(fault: "holds no P-256 private key: \(error).")
        }
    }
}
