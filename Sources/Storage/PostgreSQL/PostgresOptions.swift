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
        guard ["postgresql://", "postgres://"].contains(where: url.hasPrefix) else {
            return url.contains("=") ? nil : "is not a connection string."
        }
        let authority = url.drop { $0 != "/" }.dropFirst(2).prefix { $0 != "/" && $0 != "?" }
        // libpq would look for a host with the rest of the password as its name, and name it in an error.
        guard authority.filter({ $0 == "@" }).count > 1 else { return nil }
        return "has two @ before its path: write one in a password as %40."
    }

    package init(url: Secret, trust: Int64 = 1_000) {
        self.url = url
        self.trust = trust
    }
}
