import Coding
package import Crypto

/// Where PostgreSQL is, and how long the caches trust what was read from it.
package struct PostgresOptions: Sendable {
    /// A connection URI or string of libpq: several hosts, TLS, a passfile.
    package var url: Secret
    /// How long sessions are answered from the cache while the database does not answer, in milliseconds.
    package var trust: Int64

    /// What is wrong with a connection string, without quoting it; nil when nothing is.
    package static func fault(in url: String) -> String? {
        guard !url.contains(where: { $0.isNewline || $0 == "\0" }) else { return "has several lines." }
        guard PostgresAddress.schemes.contains(where: url.hasPrefix) else {
            return url.contains("=") ? nil : "is not a connection string."
        }
        let address = url.drop { $0 != "/" }.dropFirst(2)
        let authority = address.prefix { $0 != "/" && $0 != "?" }
        // libpq would take the rest of the password for a host or a port, and name it in an error.
        if authority.count(where: { $0 == "@" }) > 1 {
            return "has two @ before its path: write one in a password as %40."
        }
        if address.dropFirst(authority.count).contains("@") {
            return "has an @ after its host: in a password, write / as %2F, ? as %3F and @ as %40."
        }
        guard PostgresAddress(url).ports.allSatisfy({ $0.allSatisfy { ("0"..."9").contains($0) } }) else {
            return
                "has a port that is not a number: a user and a password come before the host, followed by an @."
        }
        return nil
    }

    /// Whether a text that names a database is a connection string, not a directory.
    package static func isConnectionString(_ text: String) -> Bool {
        PostgresAddress.schemes.contains(where: text.hasPrefix) || text.contains("dbname=")
    }

    package static func holdsPassword(_ url: String) -> Bool { PostgresAddress(url).hasPassword }

    /// Whether the password could be sent in the clear to someone who impersonates PostgreSQL.
    package var mayExposePassword: Bool {
        let address = PostgresAddress(url.reveal())
        return !address.isLocal && address.acceptsNoTLS
    }

    package static let standardTrust: Int64 = 1_000

    package init(url: Secret, trust: Int64 = standardTrust) {
        self.url = url
        self.trust = trust
    }
}

/// The hosts and TLS options of a connection string, read without libpq, which may be missing where it is checked.
struct PostgresAddress {
    /// Names, addresses and directories of sockets; empty for the socket of this machine.
    private(set) var hosts: [Substring] = []
    private(set) var ports: [Substring] = []
    private(set) var settings: [String: String] = [:]
    private var hasPasswordInAuthority = false

    static let schemes = ["postgresql://", "postgres://"]

    init(_ text: String) {
        if let scheme = Self.schemes.first(where: text.hasPrefix) {
            read(address: text.dropFirst(scheme.count))
        } else {
            read(words: text)
        }
        // An address replaces the name, which is then used only to check the certificate.
        for name in ["host", "hostaddr"] {
            guard let value = settings[name] else { continue }
            let named = value.split(separator: ",")
            hosts = name == "hostaddr" || hosts.isEmpty ? named : hosts + named
        }
    }

    var hasPassword: Bool { hasPasswordInAuthority || settings["password"] != nil }

    var isLocal: Bool {
        hosts.allSatisfy { $0 == "localhost" || $0 == "::1" || $0.hasPrefix("127.") || "/@".contains($0.first ?? "/") }
    }

    /// Whether a server without TLS is accepted: libpq's default is `prefer`. A service file may override it.
    var acceptsNoTLS: Bool {
        settings["sslmode"].map { ["allow", "prefer"].contains($0) } ?? (settings["service"] == nil)
    }

    private mutating func read(address: Substring) {
        let authority = address.prefix { $0 != "/" && $0 != "?" }
        let entries: Substring
        if let at = authority.lastIndex(of: "@") {
            hasPasswordInAuthority = authority[..<at].contains(":")
            entries = authority[authority.index(after: at)...]
        } else {
            entries = authority
        }
        for entry in entries.split(separator: ",") {
            // RFC 3986 §3.2.2: an IPv6 address is in brackets.
            let end = entry.first == "[" ? entry.firstIndex(of: "]") : entry.firstIndex(of: ":")
            let host = entry[..<(end ?? entry.endIndex)].drop { $0 == "[" }
            let rest = entry[(end ?? entry.endIndex)...].drop { $0 == "]" }
            hosts.append(Substring(Self.decoded(host)))
            ports.append(rest.drop { $0 == ":" })
        }
        guard let query = address.firstIndex(of: "?") else { return }
        for pair in address[address.index(after: query)...].split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { continue }
            settings[Self.decoded(parts[0])] = Self.decoded(parts[1])
        }
    }

    private static func decoded(_ text: Substring) -> String {
        PercentEncoding.decode(String(text)).map { String(decoding: $0, as: UTF8.self) } ?? String(text)
    }

    /// `host=db1 password='a b'`: quoted with ', escaped with \.
    private mutating func read(words text: String) {
        var rest = text[...].drop(while: \.isWhitespace)
        while let equals = rest.firstIndex(of: "=") {
            let name = rest[..<equals].filter { !$0.isWhitespace }
            rest = rest[rest.index(after: equals)...].drop(while: \.isWhitespace)
            let isQuoted = rest.first == "'"
            if isQuoted { rest = rest.dropFirst() }
            var value = ""
            while let next = rest.popFirst(), isQuoted ? next != "'" : !next.isWhitespace {
                value.append(next == "\\" ? rest.popFirst() ?? next : next)
            }
            settings[name] = value
            rest = rest.drop(while: \.isWhitespace)
        }
    }
}
