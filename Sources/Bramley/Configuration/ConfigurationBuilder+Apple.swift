import Coding
import Crypto
import FoundationEssentials
import RelyingParty
import Web

extension ConfigurationBuilder {
    func apple(_ publicURL: PublicURL?) -> Configuration.Apple? {
        let servicesID = clientID("apple.servicesID")
        let bundleIDs = bundleIDs(servicesID)
        let teamID = teamID()
        let keyID = tenCharacters(
            "apple.keyID", "a key ID", "Copy it from the name of the .p8 file: AuthKey_F6G7H8I9J0.p8 is F6G7H8I9J0.")
        if let keyID, let teamID, keyID.isExactly(teamID) {
            values.fail(
                "apple.keyID", "is \(keyID.quoted), as apple.teamID is, and no key has the ID of its team.",
                "Copy the key ID from the name of the .p8 file, and the Team ID from Membership details.")
        }
        let key = privateKey()
        if let keyID { compareWithFileName(keyID, "apple.keyID", "apple.privateKeyFile") }
        let next = nextKey(keyID, key)
        let scopes = scopes()
        let addresses = appleAddresses(publicURL)
        let deletion = values.choice("apple.onAccountDeleted", AccountDeletionPolicy.self)
        let nativeNonce = values.choice("apple.nativeNonce", NativeNonce.self)
        guard let servicesID, let bundleIDs, let teamID, let keyID, let key, let scopes, let addresses, let deletion,
            let nativeNonce
        else {
            return nil
        }
        return Configuration.Apple(
            servicesID: servicesID, bundleIDs: bundleIDs, teamID: teamID, keyID: keyID, privateKeyPEM: key,
            privateKeyFile: values.text("apple.privateKeyFile"), nextKey: next, scopes: scopes,
            issuers: addresses.issuers, endpoint: addresses.endpoint, scriptURL: addresses.scriptURL,
            nativeNonce: nativeNonce, onAccountDeleted: deletion, isSimulated: addresses.isSimulated,
            showsSimulationBanner: addresses.isSimulated && !(publicURL?.isForTests ?? false))
    }

    // MARK: identifiers

    func teamID() -> String? {
        tenCharacters(
            "apple.teamID", "a Team ID",
            "Copy it from Membership details in Apple's developer account, such as A1B2C3D4E5.")
    }

    func clientID(_ key: String) -> String? {
        guard let text = values.text(key) else { return nil }
        return isClientID(text, key) ? text : nil
    }

    func bundleIDs(_ servicesID: String?) -> [String]? {
        guard let texts = values.list("apple.bundleIDs") else { return nil }
        guard texts.allSatisfy({ isClientID($0, "apple.bundleIDs") }) else { return nil }
        if let servicesID, texts.contains(servicesID) {
            values.fail(
                "apple.bundleIDs", "names the Services ID \(servicesID.quoted).",
                "Name the apps' own bundle IDs; the Services ID belongs in apple.servicesID alone.")
            return nil
        }
        return texts
    }

    private func isClientID(_ text: String, _ key: String) -> Bool {
        let allowed = text.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte) || (0x41...0x5A).contains(byte) || (0x30...0x39).contains(byte)
                || byte == 0x2D || byte == 0x2E
        }
        guard allowed, text.utf8.count <= 255 else {
            values.fail(key, "names \(text.quoted).", "Write letters, digits, - and . only, such as com.example.web.")
            return false
        }
        // The portal shows App IDs as "A1B2C3D4E5.com.example.app (Prefix.Bundle ID)".
        if let match = text.prefixMatch(of: /[A-Z0-9]{10}\./) {
            values.fail(
                key, "names \(text.quoted), which begins with a team's ID.",
                "Write \(String(text[match.range.upperBound...]).quoted), without the prefix.")
            return false
        }
        return true
    }

    private func scopes() -> [String]? {
        guard let scopes = values.list("apple.scopes") else { return nil }
        for scope in scopes where scope != "name" && scope != "email" {
            values.fail(
                "apple.scopes", "names \(scope.quoted).",
                "Apple knows \"name\" and \"email\" only; [] asks for neither.")
            return nil
        }
        return ["name", "email"].filter(scopes.contains)
    }

    /// Whether a key and its twin are both given, which is a problem: nobody could say which holds.
    func refuseTwins(_ first: String, _ second: String) -> Bool {
        guard values.isGiven(first), values.isGiven(second) else { return false }
        values.fail(first, "is given together with \(second).", "Remove one of the two.")
        return true
    }

    /// A file with a secret: its text, or nil and a problem. Its mode is judged as well.
    func readSecret(_ key: String, _ path: String) -> String? {
        do throws(GuardedFile.Failure) {
            let file = try GuardedFile.read(path, maximumBytes: AppleKeyFile.maximumBytes)
            for problem in FileModeRule.problems(
                of: file, at: path, key: key, source: values.source(of: key), holdsSecret: true)
            {
                values.problems.add(problem)
            }
            return String(decoding: file.bytes, as: UTF8.self)
        } catch {
            values.fail(key, "\(path.quoted) \(error.fault)", error.remedy(for: path))
            return nil
        }
    }

    // MARK: Apple's addresses

    struct AppleAddresses {
        var issuers: [String]
        var endpoint: String
        var scriptURL: String
        var isSimulated: Bool
    }

    func appleAddresses(_ publicURL: PublicURL?) -> AppleAddresses? {
        let endpoint = values.text("apple.endpoint").flatMap { origin("apple.endpoint", $0) }
        let script = values.text("apple.scriptURL").flatMap { scriptAddress($0) }
        let issuers = issuers()
        guard let endpoint, let script, let issuers else { return nil }
        var foreign: [(key: String, address: WebAddress)] = []
        if !AppleHosts.serves(endpoint) { foreign.append(("apple.endpoint", endpoint)) }
        foreign += issuers.filter { !AppleHosts.serves($0) }.map { ("apple.issuers", $0) }
        if !AppleHosts.serves(script) { foreign.append(("apple.scriptURL", script)) }
        if let publicURL, !publicURL.isForTests, !allowsSimulatedApple {
            for (key, address) in foreign {
                values.fail(
                    key,
                    "names \(address.host.quoted), which is not Apple's: whoever runs it could sign in as anybody.",
                    "Remove the key to use Apple's. For tests, put publicURL on localhost or .test, or start with "
                        + "--allow-simulated-apple.")
            }
            guard foreign.isEmpty else { return nil }
        }
        return AppleAddresses(
            issuers: issuers.map(\.text), endpoint: endpoint.origin,
            scriptURL: values.text("apple.scriptURL") ?? script.text,
            isSimulated: !foreign.isEmpty)
    }

    private func issuers() -> [WebAddress]? {
        guard let texts = values.list("apple.issuers") else { return nil }
        guard !texts.isEmpty else {
            values.fail(
                "apple.issuers", "is empty, so that no token could be accepted.", "Remove the key to accept Apple's.")
            return nil
        }
        let addresses = texts.compactMap { secureAddress("apple.issuers", $0) }
        for address in addresses where isDoubtfulIssuer(address) {
            values.warn(
                "apple.issuers",
                "names \(address.text.quoted), which Apple is not known to use: \"iss\" is compared letter for letter.",
                "Write \(AppleHosts.issuers[0].quoted), without slash at the end, unless Apple's tokens say this very text."
            )
        }
        return addresses.count == texts.count ? addresses : nil
    }

    /// A slash at the end is a mistake with a simulator too; of Apple's names only some are issuers.
    private func isDoubtfulIssuer(_ address: WebAddress) -> Bool {
        if AppleHosts.serves(address) { return !AppleHosts.issuers.contains(where: address.text.isExactly) }
        return address.path.hasSuffix("/")
    }

    private func scriptAddress(_ text: String) -> WebAddress? {
        // The placeholder stands in the path alone; a locale is letters and an underscore.
        secureAddress("apple.scriptURL", text.replacing("{locale}", with: "en_US"))
    }

    /// An address without path.
    func origin(_ key: String, _ text: String) -> WebAddress? {
        guard let address = secureAddress(key, text) else { return nil }
        guard address.path.isEmpty else {
            values.fail(key, "\(text.quoted) has a path.", "Write \(address.origin.quoted), without slash at the end.")
            return nil
        }
        return address
    }

    /// https, or http on this machine.
    func secureAddress(_ key: String, _ text: String, isEndpoint: Bool = false) -> WebAddress? {
        guard let address = address(key, text, isEndpoint: isEndpoint) else { return nil }
        guard address.scheme == "https" || address.isLocal else {
            let shown = isEndpoint ? WebhookEndpoint.name(of: text) : text
            values.fail(key, "\(shown.quoted) is without TLS.", "Begin it with https://.")
            return nil
        }
        return address
    }
}

/// Which hosts are Apple's own.
enum AppleHosts {
    /// What Apple has called itself in `iss`, or in its discovery document for a day in June 2025.
    static let issuers = ["https://appleid.apple.com", "https://account.apple.com"]

    static func serves(_ address: WebAddress) -> Bool {
        address.scheme == "https" && address.port == nil
            && (address.host.hasSuffix(".apple.com") || address.host == "appleid.cdn-apple.com")
    }
}
