internal import Accounts
internal import AppleID
internal import Coding
internal import Crypto
internal import Logging
internal import Sockets
internal import Storage

/// Adds an audit line when this server begins to use another Apple key, certificate or access rules: while it runs, and
/// after a start, since the database remembers the last ones.
struct KeyChanges {
    private let base: ServerBase
    private let secrets: ClientSecretMint
    private let reload: OperatorReload
    private var told: [AuditEntry.Kind: Digest256] = [:]
    private var isFailing = false

    init(_ base: ServerBase, _ secrets: ClientSecretMint, _ reload: OperatorReload) {
        self.base = base
        self.secrets = secrets
        self.reload = reload
    }

    /// One thing that may change, in its present state.
    private struct Subject {
        var kind: AuditEntry.Kind
        /// Who changes it.
        var actor: AuditActor
        var fingerprint: Digest256
        var object: String
    }

    /// Nothing is written while nothing changes.
    mutating func check() async {
        for subject in subjects where told[subject.kind] != subject.fingerprint {
            do throws(StoreError) {
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
        let keys = secrets.keys
        // Read only at SIGHUP and at a start: both are the operator's.
        let apple = Subject(
            kind: .appleKeyChanged, actor: .operator, fingerprint: keys.fingerprint,
            object: [keys.current.id, keys.next?.id].compactMap(\.self).joined(separator: ","))
        // A renewal writes a file, which is then loaded automatically.
        let pair = reload.certificate?.fingerprint.map {
            Subject(
                kind: .certificateChanged, actor: .server, fingerprint: $0, object: Hexadecimal.encode(Array($0.bytes)))
        }
        // Removing the rules is a change as well.
        let rules = reload.accessRules.fingerprint
        let access = Subject(
            kind: .accessRulesChanged, actor: .operator, fingerprint: rules ?? SHA256.hash(utf8: ""),
            object: rules.map { Hexadecimal.encode(Array($0.bytes)) } ?? "none")
        return [apple, access] + (pair.map { [$0] } ?? [])
    }

    private func record(_ subject: Subject) async throws(StoreError) {
        let result = await AuditActor.$current.withValue(subject.actor) { () -> Result<Void, StoreError> in
            do throws(StoreError) {
                try await base.database.recordChange(
                    subject.kind, to: Array(subject.fingerprint.bytes), object: subject.object,
                    at: base.runtime.clock.now())
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }
}
