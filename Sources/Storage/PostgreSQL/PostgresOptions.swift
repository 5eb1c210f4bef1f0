package import Crypto

/// Where PostgreSQL is, and for how long it is believed.
package struct PostgresOptions: Sendable {
    /// A connection URI or string of libpq: several hosts, TLS, a passfile.
    package var url: Secret
    /// How long sessions are answered from the cache while nothing is heard from the database, in milliseconds.
    package var trust: Int64

    package init(url: Secret, trust: Int64 = 1_000) {
        self.url = url
        self.trust = trust
    }
}
