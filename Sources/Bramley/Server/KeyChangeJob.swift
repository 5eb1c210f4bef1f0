internal import Accounts
internal import AppleID
internal import Coding
internal import Crypto
internal import Logging
internal import Sockets
internal import Storage

/// Adds an audit line when this server begins to use another Apple key, certificate or access rules: while it runs, and
/// after a start, since the database remembers the last ones.
struct KeyChangeJob: Sendable {
    /// Between two checks, in milliseconds. Nothing is written while nothing changes.
    private static let interval: Int64 = 1_000

    let database: Database
    let secrets: ClientSecretMint
    let certificate: CertificateReload?
    let accessRules: AccessRulesReload
    let clock: any WallClock
    let logger: Logger

    /// One thing that may change, in its present state.
    private struct Subject {
        var kind: AuditEntry.Kind
        /// Who changes it.
        var actor: AuditActor
        var fingerprint: Digest256
        var object: String
    }

    func start(on loop: EventLoop) {
        loop.spawn {
            var told: [AuditEntry.Kind: Digest256] = [:]
            var isFailing = false
            while await loop.sleep(until: loop.now.adding(milliseconds: Self.interval)) {
                for subject in subjects where told[subject.kind] != subject.fingerprint {
                    do throws(StoreError) {
                        try await record(subject)
                        told[subject.kind] = subject.fingerprint
                        isFailing = false
                    } catch {
                        // Tried again at the next check; logged once.
                        if !isFailing { complain(subject, error) }
                        isFailing = true
                    }
                }
            }
        }
    }

    private var subjects: [Subject] {
        let keys = secrets.keys
        // Read only at SIGHUP and at a start: both are the operator's.
        let apple = Subject(
            kind: .appleKeyChanged, actor: .operator, fingerprint: keys.fingerprint,
            object: [keys.current.id, keys.next?.id].compactMap(\.self).joined(separator: ","))
        // A renewal writes a file, which is then loaded automatically.
        let pair = certificate?.fingerprint.map {
            Subject(
                kind: .certificateChanged, actor: .server, fingerprint: $0, object: Hexadecimal.encode(Array($0.bytes)))
        }
        // Removing the rules is a change as well.
        let rules = accessRules.fingerprint
        let access = Subject(
            kind: .accessRulesChanged, actor: .operator, fingerprint: rules ?? SHA256.hash(utf8: ""),
            object: rules.map { Hexadecimal.encode(Array($0.bytes)) } ?? "none")
        return [apple, access] + (pair.map { [$0] } ?? [])
    }

    private func record(_ subject: Subject) async throws(StoreError) {
        let result = await AuditActor.$current.withValue(subject.actor) { () -> Result<Void, StoreError> in
            do throws(StoreError) {
                try await database.recordChange(
                    subject.kind, to: Array(subject.fingerprint.bytes), object: subject.object, at: clock.now())
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    private func complain(_ subject: Subject, _ error: StoreError) {
        logger.error(
            "audit log write failed",
            metadata: [
                "type": "\(subject.kind.rawValue)", "object": "\(subject.object)", "cause": "\(error.text)",
            ])
    }
}
