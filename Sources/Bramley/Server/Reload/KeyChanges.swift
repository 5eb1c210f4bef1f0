internal import Accounts
internal import AppleID
internal import Coding
internal import Crypto
internal import Logging
internal import Storage

/// Adds an audit line when this server begins to use another Apple key, certificate or access rules: while it runs, and
/// after a start, since the database remembers the last ones.
struct KeyChanges {
    private let base: ServerBase
    private let reload: OperatorReload
    private var told: [AuditEntry.Kind: Digest256] = [:]
    private var isFailing = false

    init(_ base: ServerBase, _ reload: OperatorReload) {
        self.base = base
        self.reload = reload
    }

    /// One thing that may change, in its present state.
    private typealias Subject = (kind: AuditEntry.Kind, actor: AuditActor, fingerprint: Digest256, object: String)

    /// Nothing is written while nothing changes.
    mutating func check() async {
        for subject in subjects where told[subject.kind] != subject.fingerprint {
            do throws(Failure) {
                try await record(subject)
                told[subject.kind] = subject.fingerprint
                isFailing = false
            } catch {
                // Tried again at the next check; logged once.
                if !isFailing { base.runtime.logger.auditFailed(subject.kind, subject.object, error) }
                isFailing = true
            }
        }
    }

    private var subjects: [Subject] {
        let keys = reload.secrets.keys
        // Read only at SIGHUP and at a start: both are the operator's.
        let apple: Subject = (
            .appleKeyChanged, .operator, keys.fingerprint,
            [keys.current.id, keys.next?.id].compactMap(\.self).joined(separator: ",")
        )
        // A renewal writes a file, which is then loaded automatically.
        let pair = reload.certificate?.fingerprint.map { digest -> Subject in
            (.certificateChanged, .server, digest, Hexadecimal.encode(Array(digest.bytes)))
        }
        // Removing the rules is a change as well.
        let rules = reload.rulesFingerprint
        let access: Subject = (
            .accessRulesChanged, .operator, rules ?? SHA256.hash(utf8: ""),
            rules.map { Hexadecimal.encode(Array($0.bytes)) } ?? "none"
        )
        return [apple, access] + (pair.map { [$0] } ?? [])
    }

    private func record(_ subject: Subject) async throws(Failure) {
        try await AuditActor.$current.withValue(subject.actor) {
            await Result { () async throws(Failure) in
                try await base.database.recordChange(
                    subject.kind, to: Array(subject.fingerprint.bytes), object: subject.object,
                    at: base.runtime.clock.now())
            }
        }.get()
    }
}
