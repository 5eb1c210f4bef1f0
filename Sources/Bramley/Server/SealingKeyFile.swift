internal import Coding
internal import Crypto
internal import Sockets
internal import Storage

/// The sealing key: read from its file, or created together with a new database and never otherwise.
enum SealingKeyFile {
    static func load(_ configuration: DatabaseConfiguration, random: any RandomSource) throws(CommandFailure)
        -> SealingKeyring
    {
        let current: SecretBytes
        switch configuration.secrets.sealingKey {
        case .inline(let bytes): current = bytes
        case .file(let path) where GuardedFile.exists(path): current = try read(path)
        case .file(let path):
            let directory = configuration.storage.directory
            guard configuration.storage.postgres == nil else {
                throw CommandFailure(
                    """
                    The sealing key \(path) is missing. All servers of one database need the same, so Bramley does not \
                    create it: run (umask 077; openssl rand -hex 32 > \(path)) on the first server, and copy the file to \
                    the others.
                    """)
            }
            guard !Store.exists(in: directory) else {
                throw CommandFailure(
                    """
                    The sealing key \(path) is missing, and the database in \(directory) was made with it: restore the \
                    key from a backup. A new key could not open the stored data.
                    """)
            }
            current = try create(path, in: directory, random)
        }
        return try keyring(current, configuration)
    }

    /// A database without its key, for `check`; the server would not start.
    static func problem(_ configuration: Configuration) -> ConfigurationProblem? {
        guard case .file(let path) = configuration.secrets.sealingKey, !GuardedFile.exists(path),
            configuration.storage.mayHoldDatabase
        else { return nil }
        guard configuration.storage.postgres == nil else {
            return ConfigurationProblem(
                key: "secrets.sealingKeyFile", fault: "\(path.quoted) does not exist.",
                remedy:
                    "All servers that share a database need the same sealing key. Create one with `openssl rand -hex 32`."
            )
        }
        return ConfigurationProblem(
            key: "secrets.sealingKeyFile",
            fault:
                "\(path.quoted) does not exist, but the database in \(configuration.storage.directory.quoted) was created "
                + "with it.",
            remedy: "Restore the key from a backup; a new key could not open the stored data.")
    }

    /// Never creates one: for a database that was made with it.
    static func loadExisting(_ configuration: DatabaseConfiguration) throws(CommandFailure) -> SealingKeyring {
        switch configuration.secrets.sealingKey {
        case .inline(let bytes): return try keyring(bytes, configuration)
        case .file(let path) where GuardedFile.exists(path): return try keyring(try read(path), configuration)
        case .file(let path):
            throw CommandFailure(
                """
                The sealing key \(path) is missing. First restore the one that belongs to the backup; a new key could \
                not open the data in it.
                """)
        }
    }

    private static func keyring(
        _ current: SecretBytes, _ configuration: DatabaseConfiguration
    ) throws(CommandFailure) -> SealingKeyring {
        var previous = configuration.secrets.previousSealingKeys
        if case .file(let path) = configuration.secrets.sealingKey {
            if GuardedFile.exists(next(path)) { previous.append(try read(next(path))) }
            for former in formers(path) { previous.append(try read(former)) }
        }
        return SealingKeyring(
            current: SealingKey(material: current), previous: previous.map { SealingKey(material: $0) })
    }

    static func read(_ path: String) throws(CommandFailure) -> SecretBytes {
        let bytes = try translating(try GuardedFile.read(path, maximumBytes: 4096).bytes(at: path, without: 0o066)) {
            (error: InputFlaw) in CommandFailure("The sealing key \(path) \(error.fault)")
        }
        let text = String(decoding: bytes, as: UTF8.self)
        guard let key = SealingKeyText.parse(text) else {
            throw CommandFailure(
                "The sealing key \(path) does not contain 64 hexadecimal digits: it \(SealingKeyText.flaw(in: text)). "
                    + "Restore it from a backup.")
        }
        return key
    }

    /// Writes a new key, durably, before anything is sealed with it.
    private static func create(
        _ path: String, in directory: String, _ random: any RandomSource
    ) throws(CommandFailure) -> SecretBytes {
        let bytes = random.bytes(32)
        do {
            try Store.prepareDirectory(directory)
            try Files.create(path, mode: 0o600, bytes: Array(SealingKeyText.render(bytes).utf8))
        } catch let error as StorageOpenError {
            throw CommandFailure(error.description)
        } catch {
            throw CommandFailure("The sealing key \(path) cannot be written: \(error).")
        }
        return SecretBytes(bytes)
    }
}
