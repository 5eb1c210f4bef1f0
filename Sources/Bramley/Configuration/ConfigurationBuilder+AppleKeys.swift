import Coding
import Crypto

// The keys Apple knows us by: `apple.keyID`, `apple.nextKeyID` and what belongs to them.
extension ConfigurationBuilder {
    func tenCharacters(_ key: String, _ what: String, _ remedy: String) -> String? {
        guard let text = values.text(key) else { return nil }
        guard text.utf8.count == 10, text.utf8.allSatisfy({ (0x41...0x5A).contains($0) || (0x30...0x39).contains($0) })
        else {
            values.fail(key, "is \(text.quoted), but \(what) is ten capitals and digits.", remedy)
            return nil
        }
        return text
    }

    /// The first key, which must be there.
    func privateKey() -> Secret? {
        let key = privateKey(file: "apple.privateKeyFile", inline: "apple.privateKey")
        if key == nil, isMissing("apple.privateKeyFile", "apple.privateKey") {
            values.failMissing(
                "apple.privateKeyFile",
                "Name the .p8 file that Apple let you download once, such as \"AuthKey_F6G7H8I9J0.p8\".")
        }
        return key
    }

    /// The second key; nil when there is none, or when something is wrong with it, which is said then.
    func nextKey(_ keyID: String?, _ key: Secret?) -> Configuration.NextKey? {
        let (name, file, inline) = ("apple.nextKeyID", "apple.nextPrivateKeyFile", "apple.nextPrivateKey")
        let isNamed = values.isGiven(name)
        let nextID = tenCharacters(name, "a key ID", "Copy it from the name of the .p8 file.")
        let pem = privateKey(file: file, inline: inline)
        if isNamed, isMissing(file, inline) {
            values.fail(name, "is given without its key.", "Name the .p8 file in \(file), or remove \(name).")
        }
        if !isNamed, !values.isRefused(name), !isMissing(file, inline) {
            values.fail(
                values.isGiven(file) ? file : inline, "is given without \(name).",
                "Give the ID of that key in \(name): the ten characters in the name of its file.")
        }
        guard let nextID, let pem else { return nil }
        compareWithFileName(nextID, name, file)
        if let keyID, keyID.isExactly(nextID) {
            values.fail(name, "is the ID in apple.keyID too.", "Give the ID of the other key, or remove \(name).")
            return nil
        }
        if let key, holdSameKey(key, pem) {
            values.fail(
                values.isGiven(file) ? file : inline, "holds the key that apple.keyID has already.",
                "Name the other key's .p8 file: one key has one ID.")
            return nil
        }
        return Configuration.NextKey(keyID: nextID, privateKeyPEM: pem, privateKeyFile: values.text(file))
    }

    /// Reads one key from the one or the other of its twins; nil when neither is given, or what is given is no key.
    private func privateKey(file fileName: String, inline inlineName: String) -> Secret? {
        let file = values.text(fileName)
        let inline = values.text(inlineName)
        guard !refuseTwins(fileName, inlineName) else { return nil }
        if let file {
            return readSecret(fileName, file).flatMap { pem in
                isP256(pem, key: fileName, subject: "\(file.quoted) ") ? Secret(pem) : nil
            }
        }
        if let inline {
            // The environment cannot always carry line ends: \n is taken for one.
            let pem = inline.replacing("\\n", with: "\n")
            return isP256(pem, key: inlineName, subject: "") ? Secret(pem) : nil
        }
        return nil
    }

    /// Whether nothing at all was said of a key, not even something that was refused.
    private func isMissing(_ file: String, _ inline: String) -> Bool {
        ![file, inline].contains { values.isGiven($0) || values.isRefused($0) }
    }

    /// Apple names the file after the key: another ID beside it is most likely that of another key.
    func compareWithFileName(_ keyID: String, _ name: String, _ file: String) {
        guard let path = values.text(file), let named = AppleKeyFile.keyID(inNameOf: path), !named.isExactly(keyID)
        else { return }
        values.warn(
            name, "is \(keyID.quoted), but the name of \(path.quoted) says \(named).",
            "Unless the file was renamed, write \(named.quoted).")
    }

    private func isP256(_ pem: String, key: String, subject: String) -> Bool {
        guard let flaw = AppleKeyFile.flaw(in: pem) else { return true }
        values.fail(
            key, subject + flaw, "Use the .p8 as Apple gave it: it begins with -----BEGIN PRIVATE KEY-----.")
        return false
    }

    private func holdSameKey(_ one: Secret, _ other: Secret) -> Bool {
        guard let one = try? P256PrivateKey(pem: one.reveal()).publicKey.coordinates,
            let other = try? P256PrivateKey(pem: other.reveal()).publicKey.coordinates
        else { return false }
        return one == other
    }
}

/// The file Apple lets a key be downloaded in, once.
enum AppleKeyFile {
    /// The most that is read of it.
    static let maximumBytes = 65_536

    /// The ten characters in a name such as `AuthKey_F6G7H8I9J0.p8`; nil when the file has another name.
    static func keyID(inNameOf path: String) -> String? {
        let name = path.split(separator: "/").last ?? ""
        guard let match = name.wholeMatch(of: /AuthKey_([A-Z0-9]{10})\.p8/) else { return nil }
        return String(match.1)
    }

    /// What a text is that is no such key, as the end of a sentence about it; nil when it is one.
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

    /// The algorithm that PKCS#8 names (RFC 5208 §5): its object identifier is within the first bytes.
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
