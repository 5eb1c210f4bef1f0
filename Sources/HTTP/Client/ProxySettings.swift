internal import Coding
internal import Sockets

/// A proxy that opens tunnels: `http://[user[:password]@]host[:port]`, without TLS to it.
package struct ProxyServer: Hashable, Sendable, CustomStringConvertible {
    package let host: String
    package let port: UInt16
    let credentials: ProxyCredentials?

    package init(host: String, port: UInt16, credentials: ProxyCredentials? = nil) {
        self.host = host
        self.port = port
        self.credentials = credentials
    }

    /// `host:port`; never the credentials.
    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// Credentials for a proxy. Printed as `<redacted>`, also by `dump` and a debugger.
package struct ProxyCredentials: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    private let userAndPassword: [UInt8]

    /// - Parameters:
    ///   - user: contains no colon (RFC 7617 §2).
    ///   - password: may be empty.
    package init(user: [UInt8], password: [UInt8]) { userAndPassword = user + [ASCII.colon] + password }

    /// The value of `Proxy-Authorization`: `Basic` and base64 (RFC 7617 §2).
    var field: String { "Basic " + Base64.encode(userAndPassword) }
    package var description: String { "<redacted>" }
    package var debugDescription: String { "<redacted>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Which destinations the client reaches through a proxy, by the convention of `HTTPS_PROXY` and `NO_PROXY`.
///
/// Only `https` goes through a tunnel. `HTTP_PROXY` is ignored: a proxy would read requests by `http`.
package struct ProxySettings: Hashable, Sendable {
    package let server: ProxyServer?
    package let exceptions: ProxyExceptions

    /// No proxy.
    package static var direct: ProxySettings { ProxySettings(server: nil) }

    package init(server: ProxyServer?, exceptions: ProxyExceptions = ProxyExceptions("")) {
        self.server = server
        self.exceptions = exceptions
    }

    /// Reads `https_proxy` or `HTTPS_PROXY`, and `no_proxy` or `NO_PROXY`, lower case first; empty is unset.
    package init(environment: [String: String]) throws(ProxySettingsError) {
        func value(_ name: String) -> (name: String, text: String)? {
            for name in [name, name.uppercased()] {
                let text = PastedText.value(environment[name] ?? "")
                if !text.isEmpty { return (name, text) }
            }
            return nil
        }
        exceptions = ProxyExceptions(value("no_proxy")?.text ?? "")
        guard let (name, text) = value("https_proxy") else {
            server = nil
            return
        }
        server = try ProxyServer(text, of: name)
    }

    /// The proxy for `url`; nil when it is reached directly.
    package func server(for url: ClientURL) -> ProxyServer? {
        guard let server, url.isSecure, !exceptions.contains(host: url.host, port: url.port) else { return nil }
        return server
    }
}

/// Why a variable cannot be used. Contains nothing of its value, which may hold a password.
package struct ProxySettingsError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Cause: String, Hashable, Sendable {
        case scheme = "only proxies of the form http://host:port are supported"
        case blanks = "it contains a space, a line end or another control character"
        case address = "the host or the port after http:// is invalid"
        case path = "nothing may follow the port"
        case credentials = "user and password must be percent-encoded, and the user without a colon"
    }

    package let variable: String
    package let cause: Cause

    package init(variable: String, cause: Cause) {
        self.variable = variable
        self.cause = cause
    }

    package var description: String { "\(variable) cannot be used: \(cause.rawValue)" }
}

extension ProxyServer {
    /// Reads `[http://][user[:password]@]host[:port][/]`; port 80 when there is none.
    fileprivate init(_ text: String, of variable: String) throws(ProxySettingsError) {
        func refusal(_ cause: ProxySettingsError.Cause) -> ProxySettingsError {
            ProxySettingsError(variable: variable, cause: cause)
        }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { throw refusal(.blanks) }
        var rest = Substring(text)
        if rest.prefix(7).lowercased() == "http://" {
            rest = rest.dropFirst(7)
        } else if let colon = rest.firstIndex(of: ":"), rest[colon...].hasPrefix("://") {
            throw refusal(.scheme)
        }
        var credentials: ProxyCredentials?
        // The last one: a password with an unencoded `@` is the more likely intention.
        if let at = rest.lastIndex(of: "@") {
            credentials = Self.credentials(rest[..<at])
            guard credentials != nil else { throw refusal(.credentials) }
            rest = rest[rest.index(after: at)...]
        }
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        guard !rest.contains(where: { $0 == "/" || $0 == "?" || $0 == "#" }) else { throw refusal(.path) }
        let bytes = Array(rest.utf8)
        guard HostSyntax.isValid(bytes.span, 0..<bytes.count), let url = ClientURL("http://" + rest) else {
            throw refusal(.address)
        }
        self.init(host: url.host, port: url.port, credentials: credentials)
    }

    private static func credentials(_ text: Substring) -> ProxyCredentials? {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let user = PercentEncoding.decode(String(parts[0])), !user.isEmpty, !user.contains(ASCII.colon),
            let password = parts.count > 1 ? PercentEncoding.decode(String(parts[1])) : []
        else { return nil }
        // RFC 7617 §2: no control characters in either.
        guard (user + password).allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else { return nil }
        return ProxyCredentials(user: user, password: password)
    }
}

/// Destinations reached without the proxy (`NO_PROXY`): entries separated by commas or spaces. Each is `*`, a domain,
/// which covers itself and its subdomains with or without a leading dot, an address, or an address block; a domain or
/// address may have a port. This host (`localhost`, 127.0.0.0/8, ::1) is always reached directly.
package struct ProxyExceptions: Hashable, Sendable {
    private enum Entry: Hashable, Sendable {
        case all
        case domain(String, port: UInt16?)
        case network(IPNetwork, port: UInt16?)
    }

    private let entries: [Entry]

    /// An entry that is none of these is taken for a domain; no host has it, so it excludes nothing.
    package init(_ text: String) {
        entries = text.split(whereSeparator: { $0 == "," || $0 == " " || $0 == "\t" }).map { Self.entry($0) }
    }

    /// - Parameter host: a name or an address, without brackets.
    package func contains(host: String, port: UInt16) -> Bool {
        let name = Self.canonical(host[...])
        let address = IPAddress(name)
        if name == "localhost" || name.hasSuffix(".localhost") || address?.isLoopback == true { return true }
        return entries.contains { entry in
            switch entry {
            case .all: true
            case .domain(let domain, let only):
                (only ?? port) == port && address == nil && (name == domain || name.hasSuffix("." + domain))
            case .network(let network, let only):
                (only ?? port) == port && address.map { network.contains($0) } == true
            }
        }
    }

    private static func entry(_ text: Substring) -> Entry {
        if text == "*" { return .all }
        if let network = IPNetwork(String(text)) { return .network(network, port: nil) }
        var name = text
        var port: UInt16?
        if let colon = text.lastIndex(of: ":"), let number = UInt16(text[text.index(after: colon)...]) {
            name = text[..<colon]
            port = number
        }
        if name.hasPrefix("[") && name.hasSuffix("]") { name = name.dropFirst().dropLast() }
        if let address = IPAddress(String(name)),
            let network = IPNetwork(address: address, prefixLength: address.bitWidth)
        {
            return .network(network, port: port)
        }
        if name.hasPrefix("*.") { name = name.dropFirst() }
        if name.hasPrefix(".") { name = name.dropFirst() }
        return .domain(canonical(name), port: port)
    }

    /// Lower case, without the final dot.
    private static func canonical(_ name: Substring) -> String {
        let lower = name.lowercased()
        return lower.hasSuffix(".") ? String(lower.dropLast()) : lower
    }
}
