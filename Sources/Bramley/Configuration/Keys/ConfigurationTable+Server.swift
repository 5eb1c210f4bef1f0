import Accounts
import HTTP
import Sockets
import Web

extension ConfigurationTable {
    @KeyList static var outerKeys: [Key] {
        Key(
            "publicURL", .publicURL, .required, into: \.web.publicURL, example: "\"https://id.example.com\"",
            """
            The address your visitors use: an https origin, with a path if Bramley is below one, such as \
            `https://id.example.com` or `https://example.com/auth`. http is accepted for localhost only. Apple's return \
            URL is this address plus `/apple/callback`.
            """)
        Key(
            "access.signUp", .choice, .required, into: \.web.signIn.signUp,
            example: "\"open\", \"approval\" or \"closed\"",
            """
            What happens to new people: `open` admits them, `approval` records them as pending until an operator \
            approves, `closed` turns them away.
            """)
    }

    @KeyList static var serverKeys: [Key] {
        Key(
            "server.host", .ipAddress, into: \.server.listener.ip,
            "The address to listen on, an IPv4 or IPv6 literal. `0.0.0.0` or `::` for all.")
        Key("server.port", .integer(1...65535), into: \.server.listener.port, "The port to listen on.")
        Key(
            "server.threads", .integer(0...256), into: \.server.threads,
            "Number of event loops, each with its own listening socket. 0 means one per core.")
        Key.twins(
            "server.certificateFile", isSecret: false, holdsLines: true, example: "\"fullchain.pem\"",
            """
            Enables TLS: a PEM file with the certificate first, then its intermediates. Bramley reads it again when it \
            changes. Without it, Bramley speaks plain HTTP behind a proxy. See [TLS](tls.md).
            """, inline: "The PEM text itself; `\\n` may be used for line breaks.")
        Key.twins(
            "server.privateKeyFile", holdsLines: true, example: "\"privkey.pem\"",
            "The private key of that certificate, as PEM without a passphrase. Bramley reads it again when it changes.",
            inline: "The PEM text itself; `\\n` may be used for line breaks.")
        Key(
            "server.redirectPort", .integer(1...65535), into: \.server.redirectPort,
            "A plain port on `server.host`, such as 80, that redirects every request to https at publicURL's host.")
        Key(
            "server.trustedProxies", .networks, into: \.server.trustedProxies,
            """
            Addresses (`10.0.0.7`) or networks (`10.0.0.0/8`) of the reverse proxies in front. Bramley believes \
            `X-Forwarded-*` fields only from these.
            """)
        Key(
            "server.proxyProtocol", .boolean, into: \.server.proxyProtocol,
            """
            Whether a load balancer in front sends the PROXY protocol, v1 or v2, at the beginning of every connection. \
            Needs `server.trustedProxies`: connections from other addresses are closed.
            """)
        Key(
            "server.drainTimeout", .integer(0...3600, "seconds"), into: \.server.drainTimeout,
            """
            How long requests in flight may take after SIGTERM. Use less than your service manager's timeout before it \
            kills.
            """)
    }

    @KeyList static var limitKeys: [Key] {
        Key(
            "server.limits.requestLine", .integer(256...65536, "bytes"), into: \.server.limits.wire.requestLine,
            "Longest request line; longer ones are answered 414.")
        Key(
            "server.limits.headerBlock", .integer(1024...1_048_576, "bytes"), into: \.server.limits.wire.headerBlock,
            "All header fields of a request together; more is 431.")
        Key(
            "server.limits.fieldCount", .integer(10...1000), into: \.server.limits.wire.fieldCount,
            "Maximum number of header fields; more is 431.")
        Key(
            "server.limits.body", .integer(32768...16_777_216, "bytes"), into: \.server.limits.wire.body,
            "Longest request body; more is 413. Apple's callback carries a person's name, which can be long.")
        Key(
            "server.limits.connections", .integer(1...1_000_000), into: \.server.limits.connections,
            "Maximum number of open connections over all event loops; further ones wait or are closed.")
        Key(
            "server.limits.connectionsPerAddress", .integer(1...1_000_000), into: \.server.limits.connectionsPerAddress,
            "Maximum number of open connections from one address. Addresses in server.trustedProxies are exempt.")
        Key(
            "server.limits.handshakeTimeout", .milliseconds(1...60), into: \.server.limits.timeouts.handshake,
            "How long a TLS handshake may take, from the accept.")
        Key(
            "server.limits.headerTimeout", .milliseconds(1...300), into: \.server.limits.timeouts.header,
            "From the first byte of a request to the end of its header.")
        Key(
            "server.limits.bodyTimeout", .milliseconds(1...600), into: \.server.limits.timeouts.body,
            "From the end of the header to the end of the body.")
        Key(
            "server.limits.writeTimeout", .milliseconds(1...600), into: \.server.limits.timeouts.write,
            "How long a client may accept no bytes of a response.")
        Key(
            "server.limits.idleTimeout", .milliseconds(1...3600), into: \.server.limits.timeouts.idle,
            "How long a kept-alive connection may stay open without a request.")
        Key(
            "server.limits.credentialChecks", .integer(1...1000, "checks a second"),
            into: \.server.limits.credentialChecks,
            """
            Maximum checks per second at Apple of whether a person still consents. Each person is checked once a day at \
            most; 20 a second are 1.7 million a day.
            """)
        Key(
            "server.limits.signInsPerMinute", .integer(1...100_000), into: \.web.limits.signInsPerMinute,
            """
            Login and link pages, attempts and callbacks that one address may request in a minute, counted together; \
            more is 429. Raise it if many people share one address, as in a school or an office.
            """)
        Key(
            "server.limits.exportsPerMinute", .integer(1...100_000), into: \.web.limits.exportsPerMinute,
            "Account exports (`GET /account/export`) that one address may request in a minute; more is 429.")
        Key(
            "server.limits.operatorPerMinute", .integer(1...100_000), into: \.web.limits.operatorPerMinute,
            "Requests for the [operator's page](operator.md) that one address may make in a minute; more is 429.")
    }

    @KeyList static var adminKeys: [Key] {
        Key(
            "admin.host", .ipAddress, into: \.admin.ip,
            "The address of the operator's listener: `/healthz` and `/readyz`. Never make it public.")
        Key("admin.port", .integer(1...65535), into: \.admin.port, "Its port, different from server.port.")
    }

    @KeyList static var logKeys: [Key] {
        Key("log.level", .choice, into: \.log.level, "The least severe lines to write. They go to standard error.")
        Key("log.format", .choice, into: \.log.format, "One JSON object a line, or plain text for people.")
        Key(
            "log.requests", .choice, into: \.web.accessLog.requests,
            """
            Which requests are logged: all, those answered with 400 or higher, or none. Successful requests to \
            `/auth/verify` and `/assets` are logged at level debug.
            """)
        Key(
            "log.clients", .choice, into: \.web.accessLog.clients,
            """
            What a request's line says about the client: the network (/24 of an IPv4 address, /48 of an IPv6 address), \
            the whole address, or nothing.
            """)
    }
}
