internal import Coding
internal import Crypto
internal import Logging
internal import Sockets
internal import Storage
internal import Synchronization

/// Reloads the certificate and key for visitors when their files change, and at the operator's request. A pair that
/// does not match, or that browsers would refuse, leaves the previous one in use and is logged once.
final class CertificateReload: Sendable {
    typealias Replace = @Sendable (_ certificate: [UInt8], _ privateKey: [UInt8]) throws -> Void

    private struct State {
        var settings: Configuration.TLS
        /// Stamps of the files when they were last read, whatever the result; an entry is nil where there was no file.
        var judged: [FileStamp?]
        /// At the last check, if they differed from `judged`: files are read once unchanged for a whole turn.
        var seen: [FileStamp?]?
        var leaf: CertificateSummary?
        /// When to check again something that was refused only because of its time.
        var retry: Timestamp?
        /// What was logged about an unusable pair, so that it is logged once.
        var complaint: String?
        var remindedAt: Timestamp
    }

    /// Between two reminders, in milliseconds.
    private static let reminderInterval: Int64 = 86_400_000

    private let host: String
    private let isDirect: Bool
    private let replace: Replace
    private let runtime: Runtime
    private let state: Mutex<State>

    /// - Parameter isDirect: whether there is no trusted proxy between browsers and the certificate.
    init(_ settings: Configuration.TLS, host: String, isDirect: Bool, runtime: Runtime, replace: @escaping Replace) {
        self.host = host
        self.isDirect = isDirect
        self.runtime = runtime
        self.replace = replace
        let now = runtime.clock.now()
        // The files may have changed since they were read: nil, so that the first check reads them again.
        state = Mutex(
            State(
                settings: settings, judged: [nil, nil],
                leaf: try? CertificateChain(pem: settings.certificate).leaf, remindedAt: now))
    }

    /// When the certificate in use ends, in seconds since 1970; nil when it could not be read.
    var notAfter: Int64? { state.withLock { $0.leaf?.notAfter } }

    /// SHA-256 of the certificate in use; nil when it could not be read.
    var fingerprint: Digest256? { state.withLock { $0.leaf?.fingerprint } }

    /// Checks the files, once a second: reads them when they have changed and are stable.
    func check() {
        remind()
        let now = runtime.clock.now()
        let isDue = state.withLock { state in
            let stamps = state.settings.stamps
            guard stamps != state.judged || state.retry.map({ $0 <= now }) == true else {
                state.seen = nil
                return false
            }
            defer { state.seen = stamps }
            return stamps == state.seen
        }
        if isDue { read(state.withLock { $0.settings }) }
    }

    typealias Glance = (files: [String?], stamps: [FileStamp?])

    /// Before the configuration is loaded, so that later writes are not mistaken for what was read.
    func glance() -> Glance {
        let settings = state.withLock { $0.settings }
        return (settings.files, settings.stamps)
    }

    /// Applies the present configuration, at SIGHUP: found valid when it was loaded.
    func apply(_ configuration: Configuration, since glance: Glance) {
        guard let settings = configuration.server.tls else {
            return refuse("no_certificate", "server.certificateFile: is no longer set. Restart to serve without it.")
        }
        // Nothing is known about other files: the next checks read them again.
        use(settings, glance.files == settings.files ? glance.stamps : [nil, nil], isAsked: true)
    }

    /// Without waiting for the files to be stable: for when the configuration as a whole is refused.
    func checkNow() {
        let settings = state.withLock { $0.settings }
        if settings.stamps != state.withLock({ $0.judged }) { read(settings) }
    }

    /// Why browsers refuse the certificate in use; nil while it is valid.
    func fault(at now: Timestamp) -> String? {
        guard let leaf = state.withLock({ $0.leaf }) else { return nil }
        if now.seconds > leaf.notAfter {
            return "the certificate expired at \(Timestamp(seconds: leaf.notAfter).rfc3339)"
        }
        guard now.seconds < leaf.notBefore else { return nil }
        return "the certificate is not valid before \(Timestamp(seconds: leaf.notBefore).rfc3339)"
    }

    private func read(_ settings: Configuration.TLS) {
        let before = settings.stamps
        var fresh = settings
        do throws(InputFlaw) {
            if let path = settings.certificateFile {
                fresh.certificate = try Self.bytes(of: path, "server.certificateFile", isSecret: false)
            }
            if let path = settings.privateKeyFile {
                let bytes = try Self.bytes(of: path, "server.privateKeyFile", isSecret: true)
                fresh.privateKey = Secret(String(decoding: bytes, as: UTF8.self))
            }
        } catch {
            state.withLock { ($0.judged, $0.retry) = (before, nil) }
            return refuse("unreadable", error.fault)
        }
        // Written while it was read: the next check finds changed stamps, and waits again.
        guard settings.stamps == before else { return }
        use(fresh, before, isAsked: false)
    }

    private static func bytes(of path: String, _ key: String, isSecret: Bool) throws(InputFlaw) -> [UInt8] {
        do throws(InputFlaw) {
            let file = try GuardedFile.read(path)
            return try file.bytes(at: path, without: isSecret || file.holdsPrivateKey ? 0o026 : 0o022)
        } catch {
            throw InputFlaw("\(key): \(path) \(error.fault)")
        }
    }

    /// - Parameter isAsked: by the operator, who wants an answer even when nothing is new.
    private func use(_ settings: Configuration.TLS, _ stamps: [FileStamp?], isAsked: Bool) {
        let isInUse = state.withLock { state in
            state.settings.certificate == settings.certificate
                && state.settings.privateKey.reveal().isExactly(settings.privateKey.reveal())
        }
        guard !isInUse else { return confirm(settings, stamps, isAsked: isAsked) }
        let now = runtime.clock.now()
        let judgement = CertificateJudgement(
            certificate: settings.certificate, privateKey: settings.privateKey, host: host, isDirect: isDirect, now: now
        )
        // At the start an invalid certificate, by time, is better than none. It does not replace one in use.
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
            let key = fault.isOfKey ? "server.privateKeyFile" : "server.certificateFile"
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
            runtime.logger.configurationWarning("server.certificateFile: \(finding.fault) \(finding.remedy)")
        }
        report(isChanged: true)
    }

    /// The files contain what is already in use: at the start, at the operator's request, or after a bad pair.
    private func confirm(_ settings: Configuration.TLS, _ stamps: [FileStamp?], isAsked: Bool) {
        let wasRefused = state.withLock { state in
            defer { state.complaint = nil }
            state.judged = stamps
            state.retry = nil
            // The same pair, perhaps in other files.
            state.settings = settings
            return state.complaint != nil
        }
        if wasRefused || isAsked { report(isChanged: false) }
    }

    private func report(isChanged: Bool) {
        let leaf = state.withLock { $0.leaf }
        runtime.logger.info(
            "certificate reloaded",
            metadata: [
                "names": .string(leaf?.names.joined(separator: ", ") ?? ""),
                "until": .string(leaf.map { Timestamp(seconds: $0.notAfter).rfc3339 } ?? ""),
                "changed": .stringConvertible(isChanged),
            ])
    }

    /// - Parameter detail: never contains anything of the key.
    private func refuse(_ reason: String, _ detail: String) {
        let isNew = state.withLock { state in
            defer { state.complaint = detail }
            return state.complaint != detail
        }
        guard isNew else { return }
        runtime.logger.error(
            "certificate not reloaded; the previous one stays in use",
            metadata: ["reason": .string(reason), "detail": .string(detail)])
    }

    /// Once a day: a certificate that should have been renewed was not.
    private func remind() {
        let now = runtime.clock.now()
        let leaf = state.withLock { state -> CertificateSummary? in
            guard let leaf = state.leaf, CertificateJudgement.isExpiring(leaf, at: now),
                now.milliseconds - state.remindedAt.milliseconds >= Self.reminderInterval
            else { return nil }
            state.remindedAt = now
            return leaf
        }
        guard let leaf else { return }
        let hasExpired = now.seconds > leaf.notAfter
        runtime.logger.log(
            level: hasExpired ? .error : .warning, hasExpired ? "certificate expired" : "certificate expires soon",
            metadata: [
                "until": .string(Timestamp(seconds: leaf.notAfter).rfc3339),
                "left": .string(CertificateJudgement.left(of: leaf, at: now)),
            ])
    }
}

extension Configuration.TLS {
    fileprivate var files: [String?] { [certificateFile, privateKeyFile] }
    fileprivate var stamps: [FileStamp?] { files.map { $0.flatMap { FileStamp(of: $0) } } }
}
