import Accounts
import Coding
import Sockets
import Web

// What a key's address may be. Each throws what is wrong, as the end of a sentence about the key.
extension WebAddress {
    static func read(_ text: String, isEndpoint: Bool = false) throws(InputFlaw) -> WebAddress {
        try translating(try parse(text, isEndpoint: isEndpoint)) { (error: InputFlaw) in
            InputFlaw("\(shown(text, isEndpoint)) \(error.fault)", error.remedy)
        }
    }

    static func secure(_ text: String, isEndpoint: Bool = false) throws(InputFlaw) -> WebAddress {
        let address = try read(text, isEndpoint: isEndpoint)
        guard address.scheme == "https" || address.isLocal else {
            throw InputFlaw("\(shown(text, isEndpoint)) is without TLS.", "Begin it with https://.")
        }
        return address
    }

    /// An endpoint's query may contain a secret.
    private static func shown(_ text: String, _ isEndpoint: Bool) -> String {
        (isEndpoint ? WebhookEndpoint.name(of: text) : text).quoted
    }

    /// A secure address without a path, exactly.
    static func origin(_ text: String) throws(InputFlaw) -> String {
        let address = try secure(text)
        guard address.path.isEmpty else {
            throw InputFlaw("\(text.quoted) has a path.", "Write \(address.origin.quoted), without a trailing slash.")
        }
        return address.origin
    }

    static func exactOrigin(_ text: String) throws(InputFlaw) -> String {
        guard !text.contains("*") else {
            throw InputFlaw("contains the pattern \(text.quoted).", "Name each origin exactly.")
        }
        return try origin(text)
    }

    /// A host of clients' documents, or `*` for all.
    static func documentHost(_ text: String) throws(InputFlaw) -> String {
        guard text == "*" || ClientRules.isHostName(text) else {
            throw InputFlaw(
                "names \(text.quoted), which is not a host.",
                "Write a domain name in lower case, such as \"claude.ai\", without pattern or port, or \"*\" for all.")
        }
        return text
    }

    /// An https URL for a link, or a path of the site.
    static func link(_ text: String) throws(InputFlaw) -> String {
        if isPath(text) { return text }
        let bare = String(text.prefix { $0 != "?" && $0 != "#" })
        if !bare.contains("://"), !bare.hasPrefix("/") {
            throw InputFlaw(
                "\(text.quoted) is not a web address.",
                "Begin it with https://, or with / when it is a path of this site.")
        }
        _ = try secure(bare)
        return text
    }

    static func isPath(_ text: String) -> Bool {
        text.hasPrefix("/") && !text.hasPrefix("//") && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x5C }
    }

    static func supportLink(_ text: String) throws(InputFlaw) -> String {
        guard text.hasPrefix("mailto:") else { return try link(text) }
        let address = text.dropFirst("mailto:".count).prefix { $0 != "?" }
        let parts = address.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), text.isVisibleASCII
        else { throw InputFlaw("is \(text.quoted).", "Write \"mailto:help@example.com\" or an https address.") }
        return text
    }
}

extension PublicURL {
    /// - Parameter isSimulated: whether Apple, which refuses a host of one label, may be simulated.
    static func read(_ text: String, isSimulated: Bool) throws(InputFlaw) -> PublicURL? {
        let address = try WebAddress.read(text)
        if address.scheme == "http", !address.isLocal {
            throw InputFlaw(
                "is \(text.quoted), without TLS.",
                "Begin it with https://; http is for localhost, 127.0.0.1 and .localhost only.")
        }
        if address.isIPAddress, !address.isLocal {
            throw InputFlaw("names an IP address, which Apple refuses.", "Write a domain name.")
        }
        if !address.host.contains("."), !WebAddress.isForTests(address.host), !isSimulated {
            throw InputFlaw(
                "names the host \(address.host.quoted), which is not a full domain name: Apple refuses it.",
                "Write the whole name, such as \"https://\(address.host).example.com\".")
        }
        if address.path.hasSuffix("/") {
            throw InputFlaw("ends in a slash.", "Write \(ConfigurationBuilder.withoutSlash(text).quoted).")
        }
        guard address.path.isEmpty || address.path.wholeMatch(of: /(\/(?!\.\.?(\/|$))[A-Za-z0-9._~-]+)+/) != nil else {
            throw InputFlaw("has a path that is not plain.", "Write letters, digits, - . _ ~ between slashes.")
        }
        return PublicURL(text)
    }
}

extension IPAddress {
    static func read(_ text: String) throws(InputFlaw) -> IPAddress {
        guard let address = IPAddress(text) else {
            throw InputFlaw(
                "is \(text.quoted), which is not an IP address.",
                "Write an IPv4 or IPv6 address such as 127.0.0.1 or ::1 (without brackets); 0.0.0.0 or :: for all.")
        }
        return address
    }
}

extension IPNetwork {
    static func read(_ text: String) throws(InputFlaw) -> IPNetwork {
        guard let network = IPNetwork(text) else {
            throw InputFlaw(
                "names \(text.quoted), which is neither an address nor a network.",
                "Write 10.0.0.7, or 10.0.0.0/8 with no bits set beyond the prefix.")
        }
        guard network.prefixLength > 0 else {
            throw InputFlaw(
                "names \(text.quoted), which is everybody: any client could then forge its address.",
                "Write the proxy's own address.")
        }
        return network
    }
}

extension AccentColor {
    static func read(_ text: String) throws(InputFlaw) -> AccentColor {
        guard let color = AccentColor(text) else {
            throw InputFlaw("is \(text.quoted).", "Write # and six hexadecimal digits, such as \"#2f6b3c\".")
        }
        guard color.isReadable else {
            let tenths = Int(color.contrast * 10)
            throw InputFlaw(
                "is \(text.quoted), which is too pale: its contrast to the pages' light background is "
                    + "\(tenths / 10).\(tenths % 10):1, and text needs 4.5:1.",
                "Write a darker colour, such as \(color.darkened.text.quoted).")
        }
        return color
    }
}

/// Our identifiers at Apple, and what is asked there.
enum AppleIdentifier {
    /// A Services ID or bundle ID, as Apple's portal admits it.
    static func client(_ text: String) throws(InputFlaw) -> String {
        guard text.wholeMatch(of: /[A-Za-z0-9.-]*/) != nil, text.utf8.count <= 255 else {
            throw InputFlaw("names \(text.quoted).", "Write letters, digits, - and . only, such as com.example.web.")
        }
        guard !text.split(separator: ".", omittingEmptySubsequences: false).contains(where: \.isEmpty) else {
            throw InputFlaw(
                "names \(text.quoted), which has a dot at an end or two in a row.",
                "Write it as the portal shows it, such as com.example.web.")
        }
        guard text.contains(where: \.isLetter) else {
            throw InputFlaw(
                "names \(text.quoted), which has no letter: that may be an app's number in the App Store.",
                "Write the identifier as the portal shows it, such as com.example.web.")
        }
        // The portal shows App IDs as "A1B2C3D4E5.com.example.app (Prefix.Bundle ID)".
        if let match = text.prefixMatch(of: /[A-Z0-9]{10}\./) {
            throw InputFlaw(
                "names \(text.quoted), which begins with a team's ID.",
                "Write \(String(text[match.range.upperBound...]).quoted), without the prefix.")
        }
        return text
    }

    static func team(_ text: String) throws(InputFlaw) -> String {
        try tenCharacters(
            text, "a Team ID", "Copy it from Membership details in Apple's developer account, such as A1B2C3D4E5.")
    }

    static func key(_ text: String) throws(InputFlaw) -> String {
        try tenCharacters(
            text, "a key ID", "Copy it from the name of the .p8 file: AuthKey_F6G7H8I9J0.p8 is F6G7H8I9J0.")
    }

    private static func tenCharacters(_ text: String, _ what: String, _ remedy: String) throws(InputFlaw) -> String {
        guard text.wholeMatch(of: /[A-Z0-9]{10}/) != nil else {
            throw InputFlaw("is \(text.quoted), but \(what) is ten capitals and digits.", remedy)
        }
        return text
    }

    static func scope(_ text: String) throws(InputFlaw) -> String {
        guard text == "name" || text == "email" else {
            throw InputFlaw("names \(text.quoted).", "Apple knows \"name\" and \"email\" only; [] asks for neither.")
        }
        return text
    }
}
