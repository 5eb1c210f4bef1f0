internal import Crypto
internal import Sockets
internal import Storage

/// The sealing key: read from its file, or made together with a new database and never otherwise.
enum SealingKeyFile {
    static func load(_ configuration: Configuration, random: any RandomSource) throws(StartFailure) -> SealingKeyring {
        let current: SecretBytes
        switch configuration.secrets.sealingKey {
        case .inline(let bytes): current = bytes
        case .file(let path) where GuardedFile.exists(path): current = try read(path)
        case .file(let path):
            let directory = configuration.storage.directory
            guard !Database.exists(in: directory) else {
                throw StartFailure(
                    """
                    The sealing key \(path) is missing, and the database in \(directory) was made with it: restore the \
                    key from a backup. A new key could open nothing of what is stored.
                    """)
            }
            current = try create(path, in: directory, random)
        }
        return keyring(current, configuration)
    }

    /// Never makes one: for who brings a database that was made with it.
    static func loadExisting(_ configuration: Configuration) throws(StartFailure) -> SealingKeyring {
        switch configuration.secrets.sealingKey {
        case .inline(let bytes): return keyring(bytes, configuration)
        case .file(let path) where GuardedFile.exists(path): return keyring(try read(path), configuration)
        case .file(let path):
            throw StartFailure(
                """
                The sealing key \(path) is missing: put back first the one that belongs to the backup. A new key could \
                open nothing of what is in it.
                """)
        }
    }

    private static func keyring(_ current: SecretBytes, _ configuration: Configuration) -> SealingKeyring {
        SealingKeyring(
            current: SealingKey(material: current),
            previous: configuration.secrets.previousSealingKeys.map { SealingKey(material: $0) })
    }

    private static func read(_ path: String) throws(StartFailure) -> SecretBytes {
        let file: GuardedFile
        do {
            file = try GuardedFile.read(path, maximumBytes: 4096)
        } catch {
            throw StartFailure("The sealing key \(path) \(error.fault)")
        }
        guard !file.isWorldReadable, !file.isGroupReadable, !file.isWritableByOthers else {
            throw StartFailure("The sealing key \(path) is open to others: run chmod 600 \(path).")
        }
        guard let key = SealingKeyText.parse(String(decoding: file.bytes, as: UTF8.self)) else {
            throw StartFailure("The sealing key \(path) does not hold 64 hexadecimal digits: restore it from a backup.")
        }
        return key
    }

    /// Writes a new key, durable before anything is sealed with it.
    private static func create(
        _ path: String, in directory: String, _ random: any RandomSource
    ) throws(StartFailure) -> SecretBytes {
        let bytes = random.bytes(32)
        do {
            try Database.prepareDirectory(directory)
            try Files.create(path, mode: 0o600, bytes: Array(SealingKeyText.render(bytes).utf8))
        } catch let error as StorageOpenError {
            throw StartFailure(error.description)
        } catch {
            throw StartFailure("The sealing key \(path) cannot be written: \(error).")
        }
        return SecretBytes(bytes)
    }
}
