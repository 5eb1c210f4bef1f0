internal import Accounts
internal import AppleID
internal import Coding
internal import Crypto
internal import Sockets
internal import Storage

extension ServerParts {
    private typealias AuditedFile = (kind: AuditEntry.Kind, actor: AuditActor, fingerprint: Digest256, object: String)

    /// Adds an audit line when this server begins to use another Apple key, certificate or access rules, also at a start.
    func auditFiles(on loop: EventLoop) async {
        var reported: [AuditEntry.Kind: Digest256] = [:]
        var isFailing = false
        await loop.every(1_000, startsNow: false) {
            for file in auditedFiles where reported[file.kind] != file.fingerprint {
                do throws(Failure) {
                    try await record(file)
                    reported[file.kind] = file.fingerprint
                    isFailing = false
                } catch {
                    // Tried again at the next check; logged once.
                    if !isFailing { runtime.logger.auditFailed(file.kind, file.object, error) }
                    isFailing = true
                }
            }
        }
    }

    private var auditedFiles: [AuditedFile] {
        let keys = reload.secrets.keys
        // Read only at SIGHUP and at a start: both are the operator's.
        let apple: AuditedFile = (
            .appleKeyChanged, .operator, keys.fingerprint,
            [keys.current.id, keys.next?.id].compactMap(\.self).joined(separator: ",")
        )
        // A renewal writes a file, which is then loaded automatically.
        let pair = reload.certificate?.fingerprint.map { digest -> AuditedFile in
            (.certificateChanged, .server, digest, Hexadecimal.encode(Array(digest.bytes)))
        }
        // Removing the rules is a change as well.
        let rules = reload.rulesFingerprint
        let access: AuditedFile = (
            .accessRulesChanged, .operator, rules ?? SHA256.hash(utf8: ""),
            rules.map { Hexadecimal.encode(Array($0.bytes)) } ?? "none"
        )
        return [apple, access] + (pair.map { [$0] } ?? [])
    }

    private func record(_ file: AuditedFile) async throws(Failure) {
        try await AuditActor.$current.withValue(file.actor) {
            await Result { () async throws(Failure) in
                try await database.recordChange(
                    file.kind, to: Array(file.fingerprint.bytes), object: file.object, at: runtime.clock.now())
            }
        }.get()
    }
}
