internal import Coding
internal import Crypto
internal import Logging
internal import RelyingParty
internal import Sockets
internal import Synchronization

/// The certificate and key that visitors' handshakes are made with, taken again when their files change and at the
/// operator's word. Both or neither: what does not belong together, or what browsers would refuse, leaves the pair
/// before in use, is said once, and is looked at again when a file has changed.
final class CertificateReload: Sendable {
    /// What handshakes are made with: the one side effect.
    typealias Replace = @Sendable (_ certificate: [UInt8], _ privateKey: [UInt8]) throws -> Void

    private struct State {
        /// Where the pair is looked for.
        var settings: Configuration.TLS
        /// Of the files when they were last read, whatever came of it; an entry is nil where there was no file.
        var judged: [FileStamp?]
        /// Of the files at the last look, when they differed from `judged`: they are read once they have not changed for
        /// a whole turn, since they are written one after the other.
        var seen: [FileStamp?]?
        /// In use.
        var leaf: CertificateSummary?
        /// When something refused for its time alone is looked at again.
        var retry: Timestamp?
        /// What was said of a pair that is not usable, so that it is said once.
        var complaint: String?
        /// When it was last said that the certificate in use is near its end.
        var remindedAt: Timestamp
    }

    /// Between two reminders, in milliseconds.
    private static let reminderInterval: Int64 = 86_400_000

    private let host: String
    private let isDirect: Bool
    private let replace: Replace
    private let clock: any WallClock
    private let logger: Logger
    private let state: Mutex<State>

    /// - Parameters:
    ///   - settings: as they were read at the start, and are in use.
    ///   - host: of publicURL.
    ///   - isDirect: whether no trusted proxy may stand between browsers and the certificate.
    init(
        _ settings: Configuration.TLS, host: String, isDirect: Bool, clock: any WallClock, logger: Logger,
        replace: @escaping Replace
    ) {
        self.host = host
        self.isDirect = isDirect
        self.clock = clock
        self.logger = logger
        self.replace = replace
        let now = clock.now()
        // The files may have changed since they were read: nil, so that the first look reads them again.
        state = Mutex(
            State(
                settings: settings, judged: [nil, nil],
                leaf: try? CertificateChain(pem: settings.certificate).leaf, remindedAt: now))
    }

    /// When the certificate in use ends, in seconds since 1970; nil when it could not be read.
    var notAfter: Int64? { state.withLock { $0.leaf?.notAfter } }

    /// SHA-256 of the certificate in use; nil when it could not be read.
    var fingerprint: Digest256? { state.withLock { $0.leaf?.fingerprint } }

    /// Looks at the files, once a second: reads them when they have changed and stand still.
    func check() {
        remind()
        let now = clock.now()
        let isDue = state.withLock { state in
            let stamps = Self.stamps(state.settings)
            guard stamps != state.judged || state.retry.map({ $0 <= now }) == true else {
                state.seen = nil
                return false
            }
            defer { state.seen = stamps }
            return stamps == state.seen
        }
        if isDue { read(state.withLock { $0.settings }) }
    }

    /// How the files were before something else reads them.
    struct Glance: Sendable {
        fileprivate var files: [String?]
        fileprivate var stamps: [FileStamp?]
    }

    /// Before the configuration is loaded: what is written from now on is not taken for what was read.
    func glance() -> Glance {
        let settings = state.withLock { $0.settings }
        return Glance(files: Self.files(settings), stamps: Self.stamps(settings))
    }

    /// Takes what the configuration names now, as SIGHUP asks for: judged good when it was loaded.
    func apply(_ configuration: Configuration, since glance: Glance) {
        guard let settings = configuration.server.tls else {
            return refuse("no_certificate", "server.certificateFile: is no longer there. To serve without it, restart.")
        }
        // Of other files nothing is known: the next looks read them once more.
        let isKnown = glance.files == Self.files(settings)
        use(settings, isKnown ? glance.stamps : [nil, nil], isAsked: true)
    }

    /// As `look`, without waiting for the files to stand still: when the configuration cannot be taken as a whole, the
    /// certificate need not stay behind.
    func checkNow() {
        let settings = state.withLock { $0.settings }
        if Self.stamps(settings) != state.withLock({ $0.judged }) { read(settings) }
    }

    /// What keeps browsers from taking the certificate in use; nil when its time has come and is not over.
    func fault(at now: Timestamp) -> String? {
        guard let leaf = state.withLock({ $0.leaf }) else { return nil }
        if now.seconds > leaf.notAfter {
            return "the certificate has expired, on \(Timestamp(seconds: leaf.notAfter).rfc3339)"
        }
        guard now.seconds < leaf.notBefore else { return nil }
        return "the certificate is not valid before \(Timestamp(seconds: leaf.notBefore).rfc3339)"
    }

    // MARK: Reading

    private static func stamps(_ settings: Configuration.TLS) -> [FileStamp?] {
        files(settings).map { $0.flatMap { FileStamp(of: $0) } }
    }

    private static func files(_ settings: Configuration.TLS) -> [String?] {
        [settings.certificateFile, settings.privateKeyFile]
    }

    private func read(_ settings: Configuration.TLS) {
        let before = Self.stamps(settings)
        var fresh = settings
        do throws(Refusal) {
            if let path = settings.certificateFile {
                fresh.certificate = try Self.bytes(of: path, "server.certificateFile", isSecret: false)
            }
            if let path = settings.privateKeyFile {
                let bytes = try Self.bytes(of: path, "server.privateKeyFile", isSecret: true)
                fresh.privateKey = Secret(String(decoding: bytes, as: UTF8.self))
            }
        } catch {
            state.withLock { state in
                state.judged = before
                state.retry = nil
            }
            return refuse("unreadable", error.detail)
        }
        // Written to while it was read: the next look finds the stamps changed, and waits again.
        guard Self.stamps(settings) == before else { return }
        use(fresh, before, isAsked: false)
    }

    private struct Refusal: Error {
        var detail: String
    }

    private static func bytes(of path: String, _ key: String, isSecret: Bool) throws(Refusal) -> [UInt8] {
        let file: GuardedFile
        do throws(GuardedFile.Failure) {
            file = try CertificateFile.read(path)
        } catch {
            throw Refusal(detail: "\(key): \(path) \(error.fault)")
        }
        let holdsKey = isSecret || CertificateFile.holdsKey(file)
        guard !file.isWritableByOthers, !(holdsKey && file.isWorldReadable) else {
            throw Refusal(detail: "\(key): \(path) is open to others.")
        }
        return file.bytes
    }

    // MARK: Taking

    /// Judges a pair and serves it; or says why not.
    /// - Parameter isAsked: by the operator, who wants to hear of it even when nothing is new.
    private func use(_ settings: Configuration.TLS, _ stamps: [FileStamp?], isAsked: Bool) {
        guard !isInUse(settings) else { return confirm(settings, stamps, isAsked: isAsked) }
        let now = clock.now()
        let judgement = CertificateJudgement(
            certificate: settings.certificate, privateKey: settings.privateKey, host: host, isDirect: isDirect, now: now
        )
        // At the start a certificate out of its time is better than none. In place of one that is in use it is not.
        let fault = judgement.findings.first {
            $0.severity == .error || $0.reason == .expired || $0.reason == .notYetValid
        }
        state.withLock { state in
            state.judged = stamps
            state.retry = nil
            guard fault?.reason == .notYetValid, let leaf = judgement.chain?.leaf else { return }
            state.retry = Timestamp(seconds: leaf.notBefore)
        }
        if let fault {
            let key = fault.part == .certificate ? "server.certificateFile" : "server.privateKeyFile"
            return refuse(fault.reason.rawValue, "\(key): \(fault.fault)")
        }
        do {
            try replace(settings.certificate, Array(settings.privateKey.reveal().utf8))
        } catch {
            return refuse("unusable", "server.certificateFile: \(error)")
        }
        state.withLock { state in
            state.settings = settings
            state.leaf = judgement.chain?.leaf
            state.complaint = nil
        }
        for finding in judgement.findings {
            logger.warning(
                "configuration",
                metadata: ["detail": .string("server.certificateFile: \(finding.fault) \(finding.remedy)")])
        }
        report(isChanged: true)
    }

    private func isInUse(_ settings: Configuration.TLS) -> Bool {
        state.withLock { state in
            state.settings.certificate == settings.certificate
                && state.settings.privateKey.reveal().isExactly(settings.privateKey.reveal())
        }
    }

    /// What is in use already is found in the files: at the start, at the operator's word, or after a bad pair.
    private func confirm(_ settings: Configuration.TLS, _ stamps: [FileStamp?], isAsked: Bool) {
        let wasRefused = state.withLock { state in
            defer { state.complaint = nil }
            state.judged = stamps
            state.retry = nil
            // The same, perhaps in other files.
            state.settings = settings
            return state.complaint != nil
        }
        if wasRefused || isAsked { report(isChanged: false) }
    }

    private func report(isChanged: Bool) {
        let leaf = state.withLock { $0.leaf }
        logger.info(
            "certificate reloaded",
            metadata: [
                "names": .string(leaf?.names.joined(separator: ", ") ?? ""),
                "until": .string(leaf.map { Timestamp(seconds: $0.notAfter).rfc3339 } ?? ""),
                "changed": "\(isChanged)",
            ])
    }

    /// - Parameter detail: never holds anything of the key.
    private func refuse(_ reason: String, _ detail: String) {
        let isNew = state.withLock { state in
            defer { state.complaint = detail }
            return state.complaint != detail
        }
        guard isNew else { return }
        logger.error(
            "certificate not reloaded; the previous one stays in use",
            metadata: ["reason": .string(reason), "detail": .string(detail)])
    }

    /// Once a day: what should have been renewed and was not.
    private func remind() {
        let now = clock.now()
        let leaf = state.withLock { state -> CertificateSummary? in
            guard let leaf = state.leaf, CertificateJudgement.isExpiring(leaf, at: now),
                now.milliseconds - state.remindedAt.milliseconds >= Self.reminderInterval
            else { return nil }
            state.remindedAt = now
            return leaf
        }
        guard let leaf else { return }
        let hasExpired = now.seconds > leaf.notAfter
        logger.log(
            level: hasExpired ? .error : .warning,
            hasExpired ? "certificate expired" : "certificate expires soon",
            metadata: [
                "until": .string(Timestamp(seconds: leaf.notAfter).rfc3339),
                "left": .string(CertificateJudgement.left(of: leaf, at: now)),
            ])
    }
}
