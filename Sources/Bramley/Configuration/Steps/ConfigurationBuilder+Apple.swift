import AppleID
import Coding
import Crypto
import Web

// Our identifiers at Apple, and Apple's addresses.
extension ConfigurationBuilder {
    func checkApple(_ configuration: inout Configuration) {
        let apple = configuration.apple
        if areGood("apple.servicesID"), apple.bundleIDs.contains(apple.servicesID) {
            report(
                "apple.bundleIDs", "names the Services ID \(apple.servicesID.quoted).",
                "Name the apps' own bundle IDs; the Services ID belongs only in apple.servicesID.")
        }
        // In one order, whatever the file's.
        configuration.apple.scopes = ["name", "email"].filter(apple.scopes.contains)
        checkIssuers(apple.issuers)
        checkAddresses(&configuration)
    }

    private func checkAddresses(_ configuration: inout Configuration) {
        guard areGood("apple.issuers", "apple.endpoint", "apple.scriptURL") else { return }
        let apple = configuration.apple
        let named =
            apple.issuers.map { ("apple.issuers", $0) } + [
                ("apple.endpoint", apple.endpoint),
                ("apple.scriptURL", AppleHosts.withoutPlaceholder(configuration.web.apple.scriptURL)),
            ]
        var foreign: [(key: String, address: WebAddress)] = []
        for (key, text) in named {
            guard let address = try? WebAddress.parse(text) else { return }
            if !AppleHosts.serves(address) { foreign.append((key, address)) }
        }
        let isForTests = areGood("publicURL") ? configuration.web.publicURL.isForTests : nil
        configuration.apple.isSimulated = !foreign.isEmpty
        configuration.web.apple.isSimulatedByOverride = !foreign.isEmpty && isForTests != true
        guard isForTests == false, input.simulatedApple != .accepted else { return }
        let say = input.simulatedApple == .refused ? report : warn
        for (key, address) in foreign {
            say(
                key, "names \(address.host.quoted), which is not Apple's: whoever runs it could sign in as anyone.",
                "Remove the key to use Apple's. For tests, put publicURL on localhost or .test, or start with "
                    + "--allow-simulated-apple.")
        }
    }

    private func checkIssuers(_ issuers: [String]) {
        let key = "apple.issuers"
        if issuers.isEmpty {
            fail(key, "is empty, so no token could be accepted.", "Remove the key to accept Apple's.")
        }
        for address in issuers.compactMap({ try? WebAddress.parse($0) }) {
            // A trailing slash is a mistake with a simulator too; only some of Apple's hosts are issuers.
            let isKnown = AppleHosts.issuers.contains(where: address.text.isExactly)
            guard AppleHosts.serves(address) ? !isKnown : address.path.hasSuffix("/") else { continue }
            warn(
                key,
                "names \(address.text.quoted), which Apple is not known to use: \"iss\" is compared letter for letter.",
                "Write \(AppleHosts.issuers[0].quoted), without a trailing slash, unless Apple's tokens contain exactly this text."
            )
        }
    }
}

// Our keys at Apple: `apple.keyID`, `apple.nextKeyID` and their files or texts.
extension ConfigurationBuilder {
    func readAppleKeys(_ apple: inout AppleSettings) {
        if areGood("apple.keyID", "apple.teamID"), apple.key.id.isExactly(apple.teamID) {
            report(
                "apple.keyID",
                "is \(apple.key.id.quoted), the same as apple.teamID, but no key has the ID of its team.",
                "Copy the key ID from the name of the .p8 file, and the Team ID from Membership details.")
        }
        if let key = privateKey("apple.privateKeyFile") {
            apple.key.pem = Secret(key.text)
            apple.key.file = key.path
        } else if isMissing("apple.privateKeyFile") {
            failMissing(
                "apple.privateKeyFile",
                "Name the .p8 file that Apple let you download once, such as \"AuthKey_F6G7H8I9J0.p8\".")
        }
        if areGood("apple.keyID") { compareWithFileName(apple.key, "apple.keyID") }
        apple.nextKey = nextKey(apple)
    }

    /// The second key; nil when there is none, or when it has a problem, which is then reported.
    private func nextKey(_ apple: AppleSettings) -> AppleSettings.Key? {
        let (name, file) = ("apple.nextKeyID", "apple.nextPrivateKeyFile")
        let keyID = text(name).flatMap { reading(name, $0, AppleIdentifier.key) }
        let key = privateKey(file)
        if isGiven(name), isMissing(file) {
            report(name, "is set without its key.", "Name the .p8 file in \(file), or remove \(name).")
        }
        if !isGiven(name), !isRefused(name), !isMissing(file) {
            report(
                isGiven(file) ? file : "apple.nextPrivateKey", "is given without \(name).",
                "Give the ID of that key in \(name): the ten characters in the name of its file.")
        }
        guard let keyID, let key else { return nil }
        var next = AppleSettings.Key()
        (next.id, next.pem, next.file) = (keyID, Secret(key.text), key.path)
        compareWithFileName(next, name)
        if areGood("apple.keyID"), apple.key.id.isExactly(keyID) {
            report(name, "is the same as apple.keyID.", "Give the ID of the other key, or remove \(name).")
            return nil
        }
        if let one = try? ClientSecretKey(apple.key), let other = try? ClientSecretKey(next),
            one.holdsSameKey(as: other)
        {
            report(
                key.key, "contains the same key as apple.keyID.",
                "Name the other key's .p8 file: one key has one ID.")
            return nil
        }
        return next
    }

    /// Nil when it is not given, or not a P-256 key.
    private func privateKey(_ fileKey: String) -> GivenText? {
        guard let given = given(fileKey, readSecret) else { return nil }
        guard let flaw = AppleKeyFile.flaw(in: given.text) else { return given }
        fail(
            given.key, given.subject + flaw,
            "Use the .p8 file as downloaded from Apple: it begins with -----BEGIN PRIVATE KEY-----.")
        return nil
    }

    /// Apple names the file after the key: a different ID probably belongs to another key.
    private func compareWithFileName(_ key: AppleSettings.Key, _ name: String) {
        guard let path = key.file, let named = AppleKeyFile.keyID(inNameOf: path), !named.isExactly(key.id) else {
            return
        }
        warn(
            name, "is \(key.id.quoted), but the name of \(path.quoted) says \(named).",
            "Unless the file was renamed, write \(named.quoted).")
    }
}

enum AppleHosts {
    /// Apple's names in `iss`, or, for a day in June 2025, in its discovery document.
    static let issuers = ["https://appleid.apple.com", "https://account.apple.com"]

    static func serves(_ address: WebAddress) -> Bool {
        address.scheme == "https" && address.port == nil
            && (address.host.hasSuffix(".apple.com") || address.host == "appleid.cdn-apple.com")
    }

    static func script(_ text: String) throws(InputFlaw) -> String {
        _ = try WebAddress.secure(withoutPlaceholder(text))
        return text
    }

    /// The placeholder is only in the path; a locale consists of letters and an underscore.
    static func withoutPlaceholder(_ scriptURL: String) -> String { scriptURL.replacing("{locale}", with: "en_US") }
}
