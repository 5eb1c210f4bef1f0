package import Crypto

/// Where PostgreSQL is, and for how long it is believed.
package struct PostgresOptions: Sendable {
    /// A connection URI or string of libpq: several hosts, TLS, a passfile.
    package var url: Secret
    /// How long sessions are answered from the cache while nothing is heard from the database, in milliseconds.
    package var trust: Int64

    /// What is wrong with a connection string, without any part of it; nil when it may be right.
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
                "has a port that is not a number: a user and a password stand before the host, with an @ behind them."
        }
        return nil
    }

    /// Whether a text is a connection string, where it could also be a directory.
    package static func isMeant(by text: String) -> Bool {
        PostgresAddress.schemes.contains(where: text.hasPrefix) || text.contains("dbname=")
    }

    /// Whether a connection string has a password in it.
    package static func holdsPassword(_ url: String) -> Bool { PostgresAddress(url).hasPassword }

    /// Whether the password may go, in the clear, to whoever answers in PostgreSQL's place.
    package var mayShowPassword: Bool {
        let address = PostgresAddress(url.reveal())
        return !address.isLocal && address.believesWithoutTLS
    }

    package static let standardTrust: Int64 = 1_000

    package init(url: Secret, trust: Int64 = standardTrust) {
        self.url = url
        self.trust = trust
    }
}
