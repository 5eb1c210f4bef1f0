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
        let keyID = KeyKind<String>.keyID.read(self, name)
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

/// The key file, which Apple offers for download only once.
enum AppleKeyFile {
    /// The most that is read of it, in bytes.
    static let maximumBytes = 65_536

    /// The ten characters in a name such as `AuthKey_F6G7H8I9J0.p8`; nil for other names.
    static func keyID(inNameOf path: String) -> String? {
        let name = path.split(separator: "/").last ?? ""
        guard let match = name.wholeMatch(of: /AuthKey_([A-Z0-9]{10})\.p8/) else { return nil }
        return String(match.1)
    }

    /// Why a text is not such a key, as the end of a sentence about it; nil when it is one.
    static func flaw(in pem: String) -> String? {
        let error: KeyError
        do throws(KeyError) {
            _ = try P256PrivateKey(pem: pem)
            return nil
        } catch let thrown {
            error = thrown
        }
        func has(_ labels: String...) -> Bool { labels.contains { pem.contains("-----BEGIN \($0)-----") } }
        if pem.allSatisfy(\.isWhitespace) { return "is empty." }
        if error == .encrypted { return "is encrypted with a password; Apple's keys are not." }
        if has("RSA PRIVATE KEY") || algorithm(in: pem) == .rsa { return "is an RSA key; Apple's keys are P-256." }
        let blocks = pem.ranges(of: "-----BEGIN ").count - pem.ranges(of: "-----BEGIN EC PARAMETERS-----").count
        if blocks > 1 { return "holds more than one key or certificate." }
        if has("PRIVATE KEY", "EC PRIVATE KEY") {
            guard algorithm(in: pem) == nil, error != .wrongKind else {
                return "is a private key of another kind; Apple's keys are P-256."
            }
            return "is a private key that is damaged or cut short."
        }
        if has("CERTIFICATE", "TRUSTED CERTIFICATE", "CERTIFICATE REQUEST") {
            return "is a certificate, not a private key."
        }
        if has("PUBLIC KEY", "RSA PUBLIC KEY") || pem.hasPrefix("ssh-") || pem.hasPrefix("ecdsa-") {
            return "is a public key, not a private one."
        }
        return "holds no P-256 private key."
    }

    private enum Algorithm {
        case rsa, other
    }

    /// The algorithm that PKCS#8 names (RFC 5208 §5): its object identifier is in the first bytes.
    private static func algorithm(in pem: String) -> Algorithm? {
        let lines = pem.split(whereSeparator: \.isNewline)
        guard let begin = lines.firstIndex(of: "-----BEGIN PRIVATE KEY-----"),
            let end = lines[begin...].firstIndex(of: "-----END PRIVATE KEY-----"),
            let bytes = Base64.decode(pemBody: lines[(begin + 1)..<end].joined(separator: "\n"))
        else { return nil }
        let start = bytes.prefix(40)
        // 1.2.840.113549.1.1, and 1.2.840.10045.3.1.7 with the curve.
        if start.contains([0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01]) { return .rsa }
        return start.contains([0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]) ? nil : .other
    }
}
