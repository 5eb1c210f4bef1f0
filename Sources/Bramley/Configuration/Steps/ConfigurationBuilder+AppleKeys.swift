import Coding
import Crypto

// Our keys at Apple: `apple.keyID`, `apple.nextKeyID` and their files or texts.
extension ConfigurationBuilder {
    func readAppleKeys(_ apple: inout Configuration.Apple) {
        if values.areGood("apple.keyID", "apple.teamID"), apple.keyID.isExactly(apple.teamID) {
            values.report(
                "apple.keyID", "is \(apple.keyID.quoted), as apple.teamID is, and no key has the ID of its team.",
                "Copy the key ID from the name of the .p8 file, and the Team ID from Membership details.")
        }
        if let key = privateKey("apple.privateKeyFile") {
            apple.privateKeyPEM = Secret(key.text)
            apple.privateKeyFile = key.path
        } else if isMissing("apple.privateKeyFile") {
            values.failMissing(
                "apple.privateKeyFile",
                "Name the .p8 file that Apple let you download once, such as \"AuthKey_F6G7H8I9J0.p8\".")
        }
        if values.areGood("apple.keyID") { compareWithFileName(apple.keyID, "apple.keyID", apple.privateKeyFile) }
        apple.nextKey = nextKey(apple)
    }

    /// The second key; nil when there is none, or when it has a problem, which is then reported.
    private func nextKey(_ apple: Configuration.Apple) -> Configuration.NextKey? {
        let (name, file) = ("apple.nextKeyID", "apple.nextPrivateKeyFile")
        let keyID = values.text(name).flatMap { text in
            values.reading(name) { () throws(KeyFlaw) in try AppleIdentifier.key(text) }
        }
        let key = privateKey(file)
        if values.isGiven(name), isMissing(file) {
            values.report(name, "is set without its key.", "Name the .p8 file in \(file), or remove \(name).")
        }
        if !values.isGiven(name), !values.isRefused(name), !isMissing(file) {
            values.report(
                values.isGiven(file) ? file : "apple.nextPrivateKey", "is given without \(name).",
                "Give the ID of that key in \(name): the ten characters in the name of its file.")
        }
        guard let keyID, let key else { return nil }
        compareWithFileName(keyID, name, key.path)
        if values.areGood("apple.keyID"), apple.keyID.isExactly(keyID) {
            values.report(name, "is the same as apple.keyID.", "Give the ID of the other key, or remove \(name).")
            return nil
        }
        if holdSameKey(apple.privateKeyPEM, Secret(key.text)) {
            values.report(
                key.key, "holds the key that apple.keyID has already.",
                "Name the other key's .p8 file: one key has one ID.")
            return nil
        }
        return Configuration.NextKey(keyID: keyID, privateKeyPEM: Secret(key.text), privateKeyFile: key.path)
    }

    /// Nil when it is not given, or not a P-256 key.
    private func privateKey(_ fileKey: String) -> GivenText? {
        guard let given = given(fileKey, readSecret) else { return nil }
        guard let flaw = AppleKeyFile.flaw(in: given.text) else { return given }
        values.fail(
            given.key, given.subject + flaw,
            "Use the .p8 file as downloaded from Apple: it begins with -----BEGIN PRIVATE KEY-----.")
        return nil
    }

    /// Apple names the file after the key: a different ID probably belongs to another key.
    private func compareWithFileName(_ keyID: String, _ name: String, _ path: String?) {
        guard let path, let named = AppleKeyFile.keyID(inNameOf: path), !named.isExactly(keyID) else { return }
        values.warn(
            name, "is \(keyID.quoted), but the name of \(path.quoted) says \(named).",
            "Unless the file was renamed, write \(named.quoted).")
    }

    private func holdSameKey(_ one: Secret, _ other: Secret) -> Bool {
        guard let one = try? P256PrivateKey(pem: one.reveal()).publicKey.coordinates,
            let other = try? P256PrivateKey(pem: other.reveal()).publicKey.coordinates
        else { return false }
        return one == other
    }
}
