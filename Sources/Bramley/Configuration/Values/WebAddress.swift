import Sockets
package import Web

/// An http or https address from an operator. Nothing is corrected: browsers and Apple compare addresses byte by byte.
struct WebAddress: Hashable {
    let scheme: String
    /// Lower case; a name, a dotted IPv4 address, or, for an endpoint, an IPv6 address in brackets.
    let host: String
    let port: Int?
    let path: String
    /// Empty, or, for an endpoint, beginning with `?`. May contain a secret.
    var query = ""

    /// `https://id.example.com:8443`, as in `Origin`.
    var origin: String { "\(scheme)://\(host)\(port.map { ":\($0)" } ?? "")" }
    var text: String { origin + path + query }

    var isLocal: Bool { Self.isLocal(host) }

    /// This machine (RFC 6761 §6.3).
    static func isLocal(_ host: String) -> Bool {
        host == "localhost" || host == "127.0.0.1" || host == "[::1]" || host.hasSuffix(".localhost")
    }

    /// This machine, or below `.test`, which nobody can own (RFC 2606 §2).
    static func isForTests(_ host: String) -> Bool { isLocal(host) || host == "test" || host.hasSuffix(".test") }

    /// - Parameter isEndpoint: only we send requests to it: it may have a query, and an IPv6 address as its host.
    static func parse(_ text: String, isEndpoint: Bool = false) throws(InputFlaw) -> WebAddress {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x5C && $0 != 0x22 && $0 != 0x3C && $0 != 0x3E })
        else {
            throw InputFlaw(
                "contains a character that is not allowed in an address.",
                "Write other letters percent-encoded, and a host's in its xn-- form.")
        }
        let scheme: String
        if text.hasPrefix("https://") {
            scheme = "https"
        } else if text.hasPrefix("http://") {
            scheme = "http"
        } else {
            // A host without a scheme, as other programs accept it.
            let whole = "https://" + text
            if !text.contains("://"), !text.hasPrefix("/"), (try? parse(whole)) != nil {
                throw InputFlaw("is without https://.", "Write \(whole.quoted).")
            }
            throw InputFlaw("is not a web address.", "Begin it with https://.")
        }
        let rest = text.dropFirst(scheme.count + 3)
        guard isEndpoint || !rest.contains("?"), !rest.contains("#") else {
            throw InputFlaw(
                isEndpoint ? "has a fragment." : "has a query or a fragment.",
                isEndpoint ? "Remove # and what follows it." : "Remove ? or # and what follows it.")
        }
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let path = String(rest.dropFirst(authority.count).prefix { $0 != "?" })
        let query = String(rest.dropFirst(authority.count + path.count))
        guard !authority.contains("@") else {
            throw InputFlaw("has a user name before the host.", "Leave out everything up to the @.")
        }
        let bracket = isEndpoint && authority.hasPrefix("[") ? authority.firstIndex(of: "]") : nil
        let literal = bracket.map { authority[...$0] } ?? ""
        let parts = authority.dropFirst(literal.count).split(
            separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let host = literal + (parts.first ?? "")
        if literal.isEmpty {
            if let fault = hostFault(String(host)) {
                throw InputFlaw(fault, "Write a domain name in lower case, such as id.example.com.")
            }
        } else {
            try checkLiteral(host)
        }
        let port = parts.count == 2 ? try parsePort(parts[1], scheme: scheme) : nil
        return WebAddress(scheme: scheme, host: String(host), port: port, path: path, query: query)
    }

    /// RFC 3986 §3.2.2, in the form of RFC 5952: each other spelling would be a separate endpoint.
    private static func checkLiteral(_ host: Substring) throws(InputFlaw) {
        let text = String(host.dropFirst().dropLast())
        guard host.hasSuffix("]"), text.contains(":"), let address = IPAddress(text) else {
            throw InputFlaw("has no IPv6 address in its brackets.", "Write one, such as [2001:db8::1].")
        }
        guard "\(address)" == text else {
            throw InputFlaw("writes its IPv6 address in an unusual way.", "Write [\(address)].")
        }
    }

    private static func parsePort(_ text: Substring, scheme: String) throws(InputFlaw) -> Int {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = Int(text), (1...65535).contains(port),
            text.first != "0"
        else { throw InputFlaw("has a port that is not a number from 1 to 65535.", "Write the port's digits.") }
        guard port != (scheme == "https" ? 443 : 80) else {
            throw InputFlaw("names the default port.", "Leave out :\(port), as browsers do.")
        }
        return port
    }

    /// A name per RFC 1123 §2.1 in lower case, or an IPv4 address.
    private static func hostFault(_ host: String) -> String? {
        guard !host.isEmpty, host.utf8.count <= 253 else { return "has no host." }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        for label in labels {
            guard !label.isEmpty, label.utf8.count <= 63, label.first != "-", label.last != "-",
                label.utf8.allSatisfy({ (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D })
            else {
                return host.contains(where: \.isUppercase)
                    ? "has capital letters in its host." : "has no valid host name."
            }
        }
        // A last label of digits makes browsers read the host as an IPv4 address (WHATWG URL, "ends in a number").
        if labels.last?.allSatisfy(\.isNumber) == true, IPAddress(host) == nil { return "has no valid host name." }
        return nil
    }

    var isIPAddress: Bool { IPAddress(host) != nil }
}

extension PublicURL {
    package var isForTests: Bool { WebAddress.isForTests(host) }
    var isIPAddress: Bool { IPAddress(host) != nil }

    /// The URL to register with Apple for server-to-server notifications.
    package var notificationURL: String { absolute + "/apple/notifications" }
}

/// Whether a cookie domain would be shared with strangers: the part of the Public Suffix List that operators meet. So
/// the mistake shows at start and not as a cookie that never arrives.
extension WebAddress {
    static func isPublicSuffix(_ domain: String) -> Bool {
        let labels = domain.split(separator: ".").map(String.init)
        guard labels.count > 1 else { return true }
        if shared.contains(domain) { return true }
        // co.uk, com.au, org.nz: a generic second level below a country of two letters.
        return labels.count == 2 && labels[1].utf8.count == 2 && secondLevels.contains(labels[0])
    }

    private static let secondLevels: Set<String> = [
        "ac", "co", "com", "edu", "gob", "gov", "go", "govt", "gr", "ltd", "me", "mil", "ne", "net", "nom", "or", "org",
        "plc", "sch",
    ]

    /// Domains whose direct children belong to different people.
    private static let shared: Set<String> = [
        "appspot.com", "azurewebsites.net", "blogspot.com", "cloudfront.net", "fly.dev", "github.io", "gitlab.io",
        "herokuapp.com", "netlify.app", "ngrok-free.app", "ngrok.io", "onrender.com", "pages.dev", "run.app",
        "trycloudflare.com", "up.railway.app", "vercel.app", "web.app", "workers.dev",
    ]
}
