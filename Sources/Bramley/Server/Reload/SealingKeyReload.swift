internal import Accounts
internal import Coding
internal import Crypto
internal import Logging
internal import Storage

/// The sealing keys, read again when their files change, as by `bramley keys rotate-sealing`.
struct SealingKeyReload {
    let base: ServerBase
    /// Logged once.
    private var failure: String?
    private var isUnrecorded = false

    init(_ base: ServerBase) { self.base = base }

    mutating func check() async {
        let (keyring, logger) = (base.keyring, base.runtime.logger)
        do {
            let before = keyring.currentKeyID
            let found = try SealingKeyFile.loadExisting(base.configuration.database)
            guard found.keyIDs.contains(where: before.isExactly) else {
                throw CommandFailure(
                    "The file has the key \(found.currentKeyID), and \(before), which is in use, is neither beside it nor "
                        + "listed in secrets.previousSealingKeyFiles.")
            }
            if keyring.replace(with: found) {
                logger.info(
                    "sealing keys reloaded",
                    metadata: [
                        "key": .string(keyring.currentKeyID),
                        "previous": .string(keyring.previousKeyIDs.joined(separator: ",")),
                    ])
                isUnrecorded = isUnrecorded || !before.isExactly(keyring.currentKeyID)
            }
        } catch {
            return report("sealing keys not reloaded; the previous keys stay in use", "\(error)")
        }
        do {
            if isUnrecorded { try await base.database.store.stampSealingKey(at: base.runtime.clock.now()) }
            isUnrecorded = false
            failure = nil
        } catch {
            report("new sealing key in use, but not recorded in the database", "\(error)")
        }
    }

    private mutating func report(_ message: Logger.Message, _ cause: String) {
        guard failure?.isExactly(cause) != true else { return }
        failure = cause
        base.runtime.logger.error(message, metadata: ["cause": .string(cause)])
    }
}
