import Coding
package import Crypto
import Storage

// `storage` and `secrets`.
extension ConfigurationBuilder {
    /// Earlier versions resolved relative paths against the working directory: that must not lead to an empty database.
    func databaseDirectory(_ text: String) throws(InputFlaw) -> String {
        let directory = Self.withoutSlash(text)
        if let before = fromWorkingDirectory("storage.directory").map({ Self.withoutSlash($0) }),
            before != directory, Store.exists(in: before), !Store.exists(in: directory)
        {
            throw InputFlaw(
                "is \(directory.quoted), which holds no database, but \(before.quoted) in the working directory does.",
                "Relative paths start at the folder of the configuration file. Write the full path of the one you mean."
            )
        }
        return directory
    }

    static func withoutSlash(_ path: String) -> String {
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path
    }

    func readPostgres(_ storage: inout Configuration.Storage) {
        guard let given = given("storage.postgres.urlFile", readSecret) else { return }
        let url = PastedText.value(given.text)
        if let fault = PostgresOptions.fault(in: url) {
            fail(
                given.key, given.subject + fault,
                "Write `postgresql://user@host/database`, or `host=… dbname=… user=…`, with the password in a file that "
                    + "`passfile` names.")
            return
        }
        let postgres = PostgresOptions(url: Secret(url), trust: storage.postgresTrust)
        if postgres.mayExposePassword {
            warn(
                given.key,
                given.subject + "does not require TLS: whoever answers in PostgreSQL's place gets the password in the "
                    + "clear.",
                "Add sslmode=verify-full, and sslrootcert=FILE with the authority that issued PostgreSQL's certificate."
            )
        }
        storage.postgres = postgres
    }

    func readSealingKeys(_ configuration: inout Configuration) {
        if let source = sealingKey(configuration.storage.directory) { configuration.secrets.sealingKey = source }
        let previous = givenTexts("secrets.previousSealingKeyFiles") ?? []
        configuration.secrets.previousSealingKeys = previous.compactMap { $0.flatMap(sealingKey) }
    }

    private func sealingKey(_ directory: String) -> Configuration.SecretSource<SecretBytes>? {
        let (fileKey, inlineKey) = ("secrets.sealingKeyFile", "secrets.sealingKey")
        let (path, inline) = (text(fileKey), text(inlineKey))
        guard !refuseTwins(fileKey, inlineKey) else { return nil }
        if let inline {
            return sealingKey(GivenText(key: inlineKey, bytes: Array(inline.utf8))).map { .inline($0) }
        }
        guard areGood(fileKey, inlineKey, "storage.directory") else { return nil }
        let file = path ?? directory + "/sealing.key"
        // It may be missing: a new database is created with a new key. If it exists, it must be valid.
        if GuardedFile.exists(file), let bytes = readSecret(fileKey, file) {
            _ = sealingKey(GivenText(key: fileKey, path: file, bytes: bytes))
        }
        return .file(path: file)
    }

    private func sealingKey(_ given: GivenText) -> SecretBytes? {
        if let bytes = SealingKeyText.parse(given.text) { return bytes }
        fail(
            given.key,
            given.subject + "does not contain a sealing key: the text \(SealingKeyText.flaw(in: given.text)).",
            "Use 64 hexadecimal digits, as `openssl rand -hex 32` prints them.")
        return nil
    }
}

/// The text form of a sealing key: 64 hexadecimal digits, as `openssl rand -hex 32` prints them.
package enum SealingKeyText {
    package static func parse(_ text: String) -> SecretBytes? {
        let digits = PastedText.value(text)
        guard digits.utf8.count == 64, let bytes = Hexadecimal.decode(digits.lowercased()) else { return nil }
        return SecretBytes(bytes)
    }

    /// What is wrong with the text, as the end of a sentence that contains nothing of it.
    static func flaw(in text: String) -> String {
        let value = PastedText.value(text)
        if value.contains(where: \.isWhitespace) { return "has spaces or line breaks between its digits" }
        let others = value.unicodeScalars.count { !$0.properties.isASCIIHexDigit }
        if others > 0 { return "has \(others) characters that are not hexadecimal digits" }
        return "has \(value.utf8.count) digits"
    }

    package static func render(_ bytes: [UInt8]) -> String { Hexadecimal.encode(bytes) + "\n" }
}
