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
        // In one order, whatever the file's.
        configuration.apple.scopes = ["name", "email"].filter(apple.scopes.contains)
        checkIssuers(apple.issuers)
        checkAddresses(&configuration)
    }

    /// Whether a simulator replaces Apple, and whether it may.
    private func checkAddresses(_ configuration: inout Configuration) {
        guard values.areGood("apple.issuers", "apple.endpoint", "apple.scriptURL") else { return }
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
        let isForTests = values.areGood("publicURL") ? configuration.web.publicURL.isForTests : nil
        configuration.apple.isSimulated = !foreign.isEmpty
        configuration.web.apple.isSimulatedByOverride = !foreign.isEmpty && isForTests != true
        guard isForTests == false, !input.allowsSimulatedApple else { return }
        for (key, address) in foreign {
            values.report(
                key, "names \(address.host.quoted), which is not Apple's: whoever runs it could sign in as anybody.",
                "Remove the key to use Apple's. For tests, put publicURL on localhost or .test, or start with "
                    + "--allow-simulated-apple.")
        }
    }

    private func checkIssuers(_ issuers: [String]) {
        let key = "apple.issuers"
        if issuers.isEmpty {
            values.fail(key, "is empty, so no token could be accepted.", "Remove the key to accept Apple's.")
        }
        for address in issuers.compactMap({ try? WebAddress.parse($0) }) where isDoubtfulIssuer(address) {
            values.warn(
                key,
                "names \(address.text.quoted), which Apple is not known to use: \"iss\" is compared letter for letter.",
                "Write \(AppleHosts.issuers[0].quoted), without slash at the end, unless Apple's tokens say this very text."
            )
        }
    }

    /// A trailing slash is a mistake with a simulator too; only some of Apple's hosts are issuers.
    private func isDoubtfulIssuer(_ address: WebAddress) -> Bool {
        if AppleHosts.serves(address) { return !AppleHosts.issuers.contains(where: address.text.isExactly) }
        return address.path.hasSuffix("/")
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

    /// Where Apple's script is, which may contain `{locale}`.
    static func script(_ text: String) throws(KeyFlaw) -> String {
        _ = try WebAddress.secure(withoutPlaceholder(text))
        return text
    }

    /// The placeholder is only in the path; a locale consists of letters and an underscore.
    static func withoutPlaceholder(_ scriptURL: String) -> String {
        scriptURL.replacing("{locale}", with: "en_US")
    }
}
