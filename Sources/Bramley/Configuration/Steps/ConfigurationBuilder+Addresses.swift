import Accounts
import HTTP
import Sockets
import Web

// Reads values of single keys. Each returns nil after a problem.
extension ConfigurationBuilder {
    func publicURL(_ key: String, _ text: String) -> PublicURL? {
        guard let address = address(key, text) else { return nil }
        if address.scheme == "http", !address.isLocal {
            values.fail(
                key, "is \(text.quoted), without TLS.",
                "Begin it with https://; http is for localhost, 127.0.0.1 and .localhost only.")
            return nil
        }
        if address.isIPAddress, !address.isLocal {
            values.fail(key, "names an IP address, which Apple refuses.", "Write a domain name.")
            return nil
        }
        if !address.host.contains("."), !WebAddress.isForTests(address.host), !allowsSimulatedApple {
            values.fail(
                key, "names the host \(address.host.quoted), which is not a full domain name: Apple refuses it.",
                "Write the whole name, such as \"https://\(address.host).example.com\".")
            return nil
        }
        if address.path.hasSuffix("/") {
            values.fail(key, "ends in a slash.", "Write \(Self.withoutSlash(text).quoted).")
            return nil
        }
        let segments = address.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        let safe = { (segment: Substring) in
            !segment.isEmpty && segment != "." && segment != ".."
                && segment.utf8.allSatisfy { byte in
                    (0x61...0x7A).contains(byte) || (0x41...0x5A).contains(byte) || (0x30...0x39).contains(byte)
                        || "-._~".utf8.contains(byte)
                }
        }
        guard segments.allSatisfy(safe) else {
            values.fail(key, "has a path that is not plain.", "Write letters, digits, - . _ ~ between slashes.")
            return nil
        }
        return PublicURL(text)
    }

    /// The parsed address, or nil and a problem.
    func address(_ key: String, _ text: String, isEndpoint: Bool = false) -> WebAddress? {
        do throws(WebAddress.Flaw) {
            return try WebAddress.parse(text, isEndpoint: isEndpoint)
        } catch {
            let shown = isEndpoint ? WebhookEndpoint.name(of: text) : text
            values.fail(key, "\(shown.quoted) \(error.fault)", error.remedy)
            return nil
        }
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

    /// A list of exact origins, with TLS or on this machine.
    func origins(_ key: String) -> [String]? {
        guard let texts = values.list(key) else { return nil }
        let origins = texts.compactMap { text -> String? in
            if text.contains("*") {
                values.fail(key, "holds the pattern \(text.quoted).", "Name each origin exactly.")
                return nil
            }
            return origin(key, text)?.origin
        }
        return origins.count == texts.count ? origins : nil
    }

    /// An https URL for a link, or a path of the site.
    func link(_ key: String, _ text: String) -> String? {
        if isPath(text) { return text }
        let bare = String(text.prefix { $0 != "?" && $0 != "#" })
        if !bare.contains("://"), !bare.hasPrefix("/") {
            values.fail(
                key, "\(text.quoted) is not a web address.",
                "Begin it with https://, or with / when it is a path of this site.")
            return nil
        }
        return secureAddress(key, bare) == nil ? nil : text
    }

    /// A path of a host, in its encoded form.
    func isPath(_ text: String) -> Bool {
        text.hasPrefix("/") && !text.hasPrefix("//") && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x5C }
    }

    /// A page, or a mail address (RFC 6068).
    func supportLink(_ key: String, _ text: String) -> String? {
        guard text.hasPrefix("mailto:") else { return link(key, text) }
        let address = text.dropFirst("mailto:".count).prefix { $0 != "?" }
        let parts = address.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else {
            values.fail(key, "is \(text.quoted).", "Write \"mailto:help@example.com\" or an https address.")
            return nil
        }
        return text
    }

    func networks(_ key: String) -> [IPNetwork]? {
        guard let texts = values.list(key) else { return nil }
        var networks: [IPNetwork] = []
        for text in texts {
            guard let network = IPNetwork(text) else {
                values.fail(
                    key, "names \(text.quoted), which is neither an address nor a network.",
                    "Write 10.0.0.7, or 10.0.0.0/8 with no bits set beyond the prefix.")
                continue
            }
            if network.prefixLength == 0 {
                values.fail(
                    key,
                    "names \(text.quoted), which is everybody: any client could then forge its address.",
                    "Write the proxy's own address.")
                continue
            }
            networks.append(network)
        }
        return networks.count == texts.count ? networks : nil
    }

    /// A number of pixels, or nil pixels for `100%`. Nil means a problem.
    func length(_ key: String, _ range: ClosedRange<Int>) -> Int?? {
        guard values.isGiven(key) else {
            _ = values.text(key)
            if case .integer(let value)? = ConfigurationTable.byName[key]?.presence.value { return .some(value) }
            return nil
        }
        guard let text = values.text(key) else { return nil }
        if text == "100%" { return .some(nil) }
        guard let value = Int(text), range.contains(value) else {
            values.fail(key, "is \(text.quoted).", "Write \(KeyType.length(range).expectation) without unit.")
            return nil
        }
        return .some(value)
    }
}
