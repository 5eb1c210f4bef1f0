internal import Accounts
internal import Coding
internal import Crypto
internal import Logging
internal import Synchronization

/// The secrets that sign webhooks, read again when their file changes.
final class WebhookSecretFile: Sendable {
    private struct State {
        var secrets: WebhookSecrets
        /// Of the file's content when they were read.
        var digest: Digest256?
        /// The last check found nothing usable, and logged it.
        var isRefused = false
    }

    let key: String
    /// Nil when the configuration contains them.
    let path: String?
    private let logger: Logger
    private let state: Mutex<State>

    init(
        _ source: Configuration.SecretSource<WebhookSecrets>, key: String = "webhooks.secretFile", logger: Logger
    ) throws(CommandFailure) {
        self.key = key
        self.logger = logger
        switch source {
        case .inline(let secrets):
            path = nil
            state = Mutex(State(secrets: secrets))
        case .file(let path):
            self.path = path
            do throws(InputFlaw) {
                let bytes = try Self.bytes(of: path)
                state = Mutex(State(secrets: try Self.parse(bytes), digest: SHA256.hash(bytes)))
            } catch {
                throw CommandFailure("\(key): \(path) \(error.fault)")
            }
        }
    }

    var current: WebhookSecrets { state.withLock { $0.secrets } }

    /// Unusable content, as of a half-written file, changes nothing and is logged once. Returns whether they changed.
    @discardableResult
    func check() -> Bool {
        guard let path else { return false }
        do throws(InputFlaw) {
            let bytes = try Self.bytes(of: path)
            let digest = SHA256.hash(bytes)
            guard state.withLock({ $0.isRefused || $0.digest != digest }) else { return false }
            let secrets = try Self.parse(bytes)
            let isChanged = state.withLock { state in
                defer { state = State(secrets: secrets, digest: digest) }
                return state.digest != digest
            }
            logger.info("\(key) reloaded", metadata: ["secrets": .stringConvertible(secrets.all.count)])
            return isChanged
        } catch {
            let isFirst = state.withLock { state in
                defer { state.isRefused = true }
                return !state.isRefused
            }
            guard isFirst else { return false }
            logger.error(
                "\(key) not reloaded; the previous secrets stay in use", metadata: ["detail": .string(error.fault)])
            return false
        }
    }

    private static func bytes(of path: String) throws(InputFlaw) -> [UInt8] {
        try GuardedFile.read(path).bytes(at: path)
    }

    private static func parse(_ bytes: [UInt8]) throws(InputFlaw) -> WebhookSecrets {
        try translating(try WebhookSecrets(parsing: String(decoding: bytes, as: UTF8.self))) {
            (error: WebhookSecrets.Flaw) in InputFlaw(error.fault)
        }
    }
}

extension [Configuration.Webhook] {
    /// The endpoints, and the files with their secrets, each once.
    func targets(logger: Logger) throws(CommandFailure) -> ([WebhookTarget], [WebhookSecretFile]) {
        var byPath: [String: WebhookSecretFile] = [:]
        var all: [WebhookSecretFile] = []
        var targets: [WebhookTarget] = []
        for endpoint in self {
            let secrets: WebhookSecretFile
            if case .file(let path) = endpoint.secrets, let known = byPath[path] {
                secrets = known
            } else {
                secrets = try WebhookSecretFile(endpoint.secrets, logger: logger)
                all.append(secrets)
                if let path = secrets.path { byPath[path] = secrets }
            }
            targets.append(WebhookTarget(url: endpoint.url, kinds: endpoint.events, secrets: { secrets.current }))
        }
        return (targets, all)
    }
}

extension WebhookSecrets.Flaw {
    /// The end of a sentence about their source; contains nothing of them.
    var fault: String {
        switch self {
        case .empty: "contains no secret."
        case .tooMany: "contains more than \(WebhookSecrets.maximum) secrets."
        case .invalid(let line, .prefix):
            "has an invalid secret in line \(line): it does not begin with \(WebhookSecret.prefix)."
        case .invalid(let line, .base64):
            "has an invalid secret in line \(line): what follows \(WebhookSecret.prefix) is not padded base64."
        case .invalid(let line, .size):
            "has an invalid secret in line \(line): it must have "
                + "\(WebhookSecret.sizes.lowerBound) to \(WebhookSecret.sizes.upperBound) bytes."
        }
    }
}
