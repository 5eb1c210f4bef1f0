internal import RelyingParty

extension ConfigurationTable {
    static let outerKeys: [ConfigurationKey] = [
        ConfigurationKey(
            name: "publicURL", type: .text, presence: .required, example: "\"https://id.example.com\"",
            pattern: "^https?://[a-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9._~-]+)*$",
            meaning: """
                The address visitors use: an https origin, with a path when Bramley lives below one, such as \
                `https://id.example.com` or `https://example.com/auth`. http is accepted for localhost only. \
                Apple's return URL is this plus `/apple/callback`.
                """),
        ConfigurationKey(
            name: "access.signUp", type: .choice(["open", "approval", "closed"]), presence: .required,
            example: "\"open\", \"approval\" or \"closed\"",
            meaning: """
                What happens to a person not seen before: `open` lets them in, `approval` records them as pending until \
                an operator approves, `closed` turns them away.
                """),
    ]

    static let serverKeys: [ConfigurationKey] = [
        ConfigurationKey(
            name: "server.host", type: .text, presence: .text("127.0.0.1"),
            meaning: "The address to listen on, an IPv4 or IPv6 literal. `0.0.0.0` or `::` for all."),
        ConfigurationKey(
            name: "server.port", type: .integer(1...65535, unit: ""), presence: .integer(8080),
            meaning: "The port to listen on."),
        ConfigurationKey(
            name: "server.threads", type: .integer(0...256, unit: ""), presence: .integer(0),
            meaning: "Event loops, each with its own listening socket. 0 means one per core."),
        ConfigurationKey(
            name: "server.certificateFile", type: .text, presence: .optional, twin: "server.certificate",
            example: "\"fullchain.pem\"",
            meaning: """
                TLS here: a PEM file with the certificate first and its intermediates behind it. Read again when it \
                changes. Without it, plain HTTP behind a proxy. See [TLS](tls.md).
                """),
        ConfigurationKey(
            name: "server.certificate", type: .text, presence: .optional, twin: "server.certificateFile",
            holdsLines: true, meaning: "The PEM text itself; `\\n` may stand for the end of a line."),
        ConfigurationKey(
            name: "server.privateKeyFile", type: .text, presence: .optional, twin: "server.privateKey",
            example: "\"privkey.pem\"",
            meaning: "The private key of that certificate, as PEM without a passphrase. Read again when it changes."),
        ConfigurationKey(
            name: "server.privateKey", type: .text, presence: .optional, isSecret: true, twin: "server.privateKeyFile",
            holdsLines: true, meaning: "The PEM text itself; `\\n` may stand for the end of a line."),
        ConfigurationKey(
            name: "server.redirectPort", type: .integer(1...65535, unit: ""), presence: .optional,
            meaning: """
                A plain port on `server.host`, such as 80, that answers every request by sending it to https at \
                publicURL's host, and nothing else.
                """),
        ConfigurationKey(
            name: "server.trustedProxies", type: .list, presence: .list([]),
            meaning: """
                Addresses (`10.0.0.7`) or networks (`10.0.0.0/8`) of the reverse proxies in front. Only their \
                `X-Forwarded-*` fields are believed. Nobody's by default.
                """),
        ConfigurationKey(
            name: "server.proxyProtocol", type: .boolean, presence: .boolean(false),
            meaning: """
                Whether a load balancer in front says who its client is by the PROXY protocol, v1 or v2, at the beginning \
                of every connection. Needs `server.trustedProxies`: a connection from elsewhere is closed.
                """),
        ConfigurationKey(
            name: "server.drainTimeout", type: .integer(0...3600, unit: "seconds"), presence: .integer(25),
            meaning: """
                How long requests in flight may take to finish after SIGTERM. Keep it below the time after which your \
                service manager kills.
                """),
    ]

    static let limitKeys: [ConfigurationKey] = [
        limit("requestLine", 256...65536, "bytes", 8192, "The longest request line; one byte more is answered 414."),
        limit("headerBlock", 1024...1_048_576, "bytes", 16384, "All header fields of a request together; more is 431."),
        limit("fieldCount", 10...1000, "", 100, "The number of header fields; one more is 431."),
        limit(
            "body", 32768...16_777_216, "bytes", 524_288,
            "The longest request body; more is 413. Apple's callback carries a name as long as somebody made it."),
        limit(
            "connections", 1...1_000_000, "", 10000, "Open connections over all loops; further ones wait or are closed."
        ),
        limit(
            "connectionsPerAddress", 1...1_000_000, "", 256,
            "Open connections from one address. Addresses in server.trustedProxies are exempt."),
        limit(
            "handshakeTimeout", 1...60, "seconds", 10,
            "How long a TLS handshake may take, its first byte awaited."),
        limit("headerTimeout", 1...300, "seconds", 10, "From the first byte of a request to the end of its header."),
        limit("bodyTimeout", 1...600, "seconds", 20, "From the end of the header to the end of the body."),
        limit("writeTimeout", 1...600, "seconds", 20, "How long a client may refuse to take bytes of an answer."),
        limit("idleTimeout", 1...3600, "seconds", 60, "How long a kept-alive connection may stay without a request."),
        limit(
            "credentialChecks", 1...1000, "checks a second", CredentialChecks.standardRate,
            """
            At most so often Apple is asked whether a person's sign-in still stands; each at most once a day. 20 are \
            1.7 million a day.
            """),
        limit(
            "signInsPerMinute", 1...100_000, "", 120,
            """
            Login and link pages, attempts and callbacks together that one address may ask for in a minute; more is 429. \
            Raise it when many people share one address, as in a school or an office.
            """),
        limit(
            "exportsPerMinute", 1...100_000, "", 120,
            "Exports of an account (`GET /account/export`) that one address may ask for in a minute; more is 429."),
        limit(
            "upgradesPerMinute", 1...10_000, "", 10,
            """
            Passwords and second-factor codes together that one address may try in a minute, for [upgrades](upgrade.md); \
            more is 429.
            """),
        limit(
            "upgradesPerAccount", 1...1_000, "", 10,
            """
            Wrong passwords and codes together at one account in 15 minutes, from wherever, whether there is such an \
            account or not; then it is asked about no more, and answered 429.
            """),
    ]

    static let adminKeys: [ConfigurationKey] = [
        ConfigurationKey(
            name: "admin.host", type: .text, presence: .text("127.0.0.1"),
            meaning: """
                The address of the operator's listener: `/healthz` and `/readyz`. Never put it on a public \
                address.
                """),
        ConfigurationKey(
            name: "admin.port", type: .integer(1...65535, unit: ""), presence: .integer(9090),
            meaning: "Its port; another than server.port."),
    ]

    static let logKeys: [ConfigurationKey] = [
        ConfigurationKey(
            name: "log.level",
            type: .choice(["trace", "debug", "info", "notice", "warning", "error", "critical"]),
            presence: .text("info"),
            meaning: "The least severe lines to write. They go to standard error."),
        ConfigurationKey(
            name: "log.format", type: .choice(["json", "text"]), presence: .text("json"),
            meaning: "One JSON object a line, or plain text for people."),
        ConfigurationKey(
            name: "log.requests", type: .choice(["all", "failures", "none"]), presence: .text("all"),
            meaning: """
                Which requests have a line of their own: all, those answered from 400 on, or none. Good answers of \
                `/auth/verify` and `/assets` have theirs at the level debug.
                """),
        ConfigurationKey(
            name: "log.clients", type: .choice(["network", "address", "none"]), presence: .text("network"),
            meaning: """
                What that line says of who asked: the network (/24 of an IPv4 address, /48 of an IPv6 address), the \
                whole address, or nothing.
                """),
    ]

    private static func limit(
        _ name: String, _ range: ClosedRange<Int>, _ unit: String, _ value: Int, _ meaning: String
    ) -> ConfigurationKey {
        ConfigurationKey(
            name: "server.limits.\(name)", type: .integer(range, unit: unit), presence: .integer(value),
            meaning: meaning)
    }
}
