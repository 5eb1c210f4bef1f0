import Accounts
import Coding
import FoundationEssentials
import Web

// Our identifiers at Apple, and Apple's addresses.
extension ConfigurationBuilder {
    func checkApple(_ configuration: inout Configuration) {
        let apple = configuration.apple
        if values.areGood("apple.servicesID"), apple.bundleIDs.contains(apple.servicesID) {
            values.report(
                "apple.bundleIDs", "names the Services ID \(apple.servicesID.quoted).",
                "Name the apps' own bundle IDs; the Services ID belongs only in apple.servicesID.")
        }
        checkAddresses(&configuration)
    }

    // MARK: Identifiers

    func tenCharacters(_ key: String, _ text: String, _ what: String, _ remedy: String) -> String? {
        guard text.utf8.count == 10, text.utf8.allSatisfy({ (0x41...0x5A).contains($0) || (0x30...0x39).contains($0) })
        else {
            values.fail(key, "is \(text.quoted), but \(what) is ten capitals and digits.", remedy)
            return nil
        }
        return text
    }

    func isClientID(_ text: String, _ key: String) -> Bool {
        let allowed = text.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte) || (0x41...0x5A).contains(byte) || (0x30...0x39).contains(byte)
                || byte == 0x2D || byte == 0x2E
        }
        guard allowed, text.utf8.count <= 255 else {
            values.fail(key, "names \(text.quoted).", "Write letters, digits, - and . only, such as com.example.web.")
            return false
        }
        guard !text.split(separator: ".", omittingEmptySubsequences: false).contains(where: \.isEmpty) else {
            values.fail(
                key, "names \(text.quoted), which has a dot at an end or two in a row.",
                "Write it as the portal shows it, such as com.example.web.")
            return false
        }
        guard text.contains(where: \.isLetter) else {
            values.fail(
                key, "names \(text.quoted), which has no letter: that is at most an app's number in the App Store.",
                "Write the identifier as the portal shows it, such as com.example.web.")
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

    func scopes(_ key: String) -> [String]? {
        guard let scopes = values.list(key) else { return nil }
        for scope in scopes where scope != "name" && scope != "email" {
            values.fail(
                key, "names \(scope.quoted).",
                "Apple knows \"name\" and \"email\" only; [] asks for neither.")
            return nil
        }
        return ["name", "email"].filter(scopes.contains)
    }

    // MARK: Apple's addresses

    /// Whether a simulator replaces Apple, and whether it may.
    private func checkAddresses(_ configuration: inout Configuration) {
        guard values.areGood("apple.issuers", "apple.endpoint", "apple.scriptURL") else { return }
        let apple = configuration.apple
        let named =
            apple.issuers.map { ("apple.issuers", $0) } + [
                ("apple.endpoint", apple.endpoint), ("apple.scriptURL", Self.withoutPlaceholder(apple.scriptURL)),
            ]
        var foreign: [(key: String, address: WebAddress)] = []
        for (key, text) in named {
            guard let address = try? WebAddress.parse(text) else { return }
            if !AppleHosts.serves(address) { foreign.append((key, address)) }
        }
        let isForTests = values.areGood("publicURL") ? configuration.publicURL.isForTests : nil
        configuration.apple.isSimulated = !foreign.isEmpty
        configuration.apple.showsSimulationBanner = !foreign.isEmpty && isForTests != true
        guard isForTests == false, !allowsSimulatedApple else { return }
        for (key, address) in foreign {
            values.report(
                key, "names \(address.host.quoted), which is not Apple's: whoever runs it could sign in as anybody.",
                "Remove the key to use Apple's. For tests, put publicURL on localhost or .test, or start with "
                    + "--allow-simulated-apple.")
        }
    }

    func issuers(_ key: String) -> [String]? {
        guard let texts = values.list(key) else { return nil }
        guard !texts.isEmpty else {
            values.fail(
                key, "is empty, so no token could be accepted.", "Remove the key to accept Apple's.")
            return nil
        }
        let addresses = texts.compactMap { secureAddress(key, $0) }
        for address in addresses where isDoubtfulIssuer(address) {
            values.warn(
                key,
                "names \(address.text.quoted), which Apple is not known to use: \"iss\" is compared letter for letter.",
                "Write \(AppleHosts.issuers[0].quoted), without slash at the end, unless Apple's tokens say this very text."
            )
        }
        return addresses.count == texts.count ? addresses.map(\.text) : nil
    }

    /// A trailing slash is a mistake with a simulator too; only some of Apple's hosts are issuers.
    private func isDoubtfulIssuer(_ address: WebAddress) -> Bool {
        if AppleHosts.serves(address) { return !AppleHosts.issuers.contains(where: address.text.isExactly) }
        return address.path.hasSuffix("/")
    }

    func scriptAddress(_ key: String, _ text: String) -> WebAddress? {
        secureAddress(key, Self.withoutPlaceholder(text))
    }

    /// The placeholder is only in the path; a locale consists of letters and an underscore.
    private static func withoutPlaceholder(_ scriptURL: String) -> String {
        scriptURL.replacing("{locale}", with: "en_US")
    }
}

/// Apple's own hosts.
enum AppleHosts {
    /// Apple's names in `iss`, or, for a day in June 2025, in its discovery document.
    static let issuers = ["https://appleid.apple.com", "https://account.apple.com"]

    static func serves(_ address: WebAddress) -> Bool {
        address.scheme == "https" && address.port == nil
            && (address.host.hasSuffix(".apple.com") || address.host == "appleid.cdn-apple.com")
    }
}
