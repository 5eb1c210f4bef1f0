internal import Crypto
internal import Logging
internal import RelyingParty
internal import Synchronization

/// The secrets that sign webhooks, or the questions to the verifier, read again when their file changes: a secret is
/// replaced without a restart.
final class WebhookSecretFile: Sendable {
    private struct State {
        var secrets: WebhookSecrets
        /// Of what the file held when they were read.
        var digest: Digest256?
        /// The last look found nothing usable, and said so.
        var isRefused = false
    }

    /// The key of the configuration that names the file.
    let key: String
    private let path: String?
    private let logger: Logger
    private let state: Mutex<State>

    /// - Parameter key: of the configuration; for the log.
    /// - Throws: `StartFailure`.
    init(
        _ source: Configuration.WebhookSecretSource, key: String = "webhooks.secretFile", logger: Logger
    ) throws(StartFailure) {
        self.key = key
        self.logger = logger
        switch source {
        case .inline(let secrets):
            path = nil
            state = Mutex(State(secrets: secrets))
        case .file(let path):
            self.path = path
            do throws(Refusal) {
                let bytes = try Self.bytes(of: path)
                state = Mutex(State(secrets: try Self.parse(bytes), digest: SHA256.hash(bytes)))
            } catch {
                throw StartFailure("\(key): \(path) \(error.fault)")
            }
        }
    }

    /// Those that are live now.
    var current: WebhookSecrets { state.withLock { $0.secrets } }

    /// Looks at the file. What is not usable, such as a file half written, leaves the secrets as they are and is said
    /// once.
    /// - Returns: whether other secrets are live from now on.
    @discardableResult
    func check() -> Bool {
        guard let path else { return false }
        do throws(Refusal) {
            let bytes = try Self.bytes(of: path)
            let digest = SHA256.hash(bytes)
            guard state.withLock({ $0.isRefused || $0.digest != digest }) else { return false }
            let secrets = try Self.parse(bytes)
            let isChanged = state.withLock { state in
                defer { state = State(secrets: secrets, digest: digest) }
                return state.digest != digest
            }
            logger.info("\(key) reloaded", metadata: ["secrets": "\(secrets.all.count)"])
            return isChanged
        } catch {
            let isFirst = state.withLock { state in
                defer { state.isRefused = true }
                return !state.isRefused
            }
            guard isFirst else { return false }
            logger.error(
                "\(key) not reloaded; the previous secrets stay in use",
                metadata: ["detail": .string(error.fault)])
            return false
        }
    }

    /// Those a file holds, once.
    static func read(_ path: String) throws -> WebhookSecrets { try parse(try bytes(of: path)) }

    private struct Refusal: Error {
        var fault: String
    }

    private static func bytes(of path: String) throws(Refusal) -> [UInt8] {
        let file: GuardedFile
        do throws(GuardedFile.Failure) {
            file = try GuardedFile.read(path, maximumBytes: 65536)
        } catch {
            throw Refusal(fault: error.fault)
        }
        guard !file.isWorldReadable, !file.isWritableByOthers else { throw Refusal(fault: "is open to others.") }
        return file.bytes
    }

    private static func parse(_ bytes: [UInt8]) throws(Refusal) -> WebhookSecrets {
        do throws(WebhookSecrets.Flaw) {
            return try WebhookSecrets(parsing: String(decoding: bytes, as: UTF8.self))
        } catch {
            throw Refusal(fault: error.fault)
        }
    }
}

extension Configuration.Webhooks {
    /// The endpoints, and the files their secrets are read from, each once.
    /// - Throws: `StartFailure`.
    func targets(logger: Logger) throws(StartFailure) -> ([WebhookTarget], [WebhookSecretFile]) {
        var files: [String: WebhookSecretFile] = [:]
        var all: [WebhookSecretFile] = []
        var targets: [WebhookTarget] = []
        for endpoint in endpoints {
            var path: String?
            if case .file(let named) = endpoint.secrets { path = named }
            let secrets: WebhookSecretFile
            if let path, let known = files[path] {
                secrets = known
            } else {
                secrets = try WebhookSecretFile(endpoint.secrets, logger: logger)
                all.append(secrets)
                if let path { files[path] = secrets }
            }
            targets.append(
                WebhookTarget(url: endpoint.url, kinds: endpoint.events, secrets: { secrets.current }))
        }
        return (targets, all)
    }
}

extension WebhookSecrets.Flaw {
    /// The end of a sentence about the place they stand in; holds nothing of it.
    var fault: String {
        switch self {
        case .empty: "holds no secret."
        case .tooMany: "holds more than \(WebhookSecrets.maximum) secrets."
        case .invalid(let line): "holds in line \(line) no secret that signs."
        }
    }
}
