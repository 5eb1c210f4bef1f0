import Accounts
import HTTP
import Sockets
import Web

extension ConfigurationTable {
    @KeyList static var outerKeys: [Key] {
        Key(
            "publicURL", .publicURL, .required, into: \.web.publicURL, example: "\"https://id.example.com\"",
            """
            The https address visitors use, such as `https://id.example.com` or `https://example.com/auth`. http only \
            on localhost. Apple's return URL is this address plus `/apple/callback`.
            """)
        Key(
            "access.signUp", .choice, .required, into: \.web.signIn.signUp,
            example: "\"open\", \"approval\" or \"closed\"",
            """
            New people: `open` admits them, `approval` keeps them pending until an operator approves, `closed` turns \
            them away.
            """)
    }

    @KeyList static var serverKeys: [Key] {
        Key(
            "server.host", .ipAddress, into: \.server.listener.ip,
            "The IPv4 or IPv6 address to listen on; `0.0.0.0` or `::` for all.")
        Key("server.port", .integer(1...65535), into: \.server.listener.port, "The port to listen on.")
        Key("server.threads", .integer(0...256), into: \.server.threads, "Event loops; 0 means one per core.")
        Key.twins(
            "server.certificateFile", isSecret: false, holdsLines: true, example: "\"fullchain.pem\"",
            """
            Enables [TLS](../operate/network.md#serve-tls-without-a-proxy): a PEM file with the certificate, then its \
            intermediates.
            """, inline: "The PEM text.")
        Key.twins(
            "server.privateKeyFile", holdsLines: true, example: "\"privkey.pem\"",
            "Its private key, as PEM without a passphrase.",
            inline: "The PEM text.")
        Key(
            "server.redirectPort", .integer(1...65535), into: \.server.redirectPort,
            "A plain port, such as 80, that redirects to https.")
        Key(
            "server.trustedProxies", .networks, into: \.server.trustedProxies,
            """
            Addresses or networks (`10.0.0.0/8`) of your proxies. `X-Forwarded-*` fields are believed only from these.
            """)
        Key(
            "server.proxyProtocol", .boolean, into: \.server.proxyProtocol,
            "Whether every connection begins with the PROXY protocol, v1 or v2. Needs `server.trustedProxies`.")
        Key(
            "server.drainTimeout", .integer(0...3600, "seconds"), into: \.server.drainTimeout,
            "Time for requests in flight after SIGTERM; less than your service manager's timeout.")
    }

    @KeyList static var limitKeys: [Key] {
        Key(
            "server.limits.requestLine", .integer(256...65536, "bytes"), into: \.server.limits.wire.requestLine,
            "Longest request line; beyond it, 414.")
        Key(
            "server.limits.headerBlock", .integer(1024...1_048_576, "bytes"), into: \.server.limits.wire.headerBlock,
            "All header fields together; beyond it, 431.")
        Key(
            "server.limits.fieldCount", .integer(10...1000), into: \.server.limits.wire.fieldCount,
            "Number of header fields; beyond it, 431.")
        Key(
            "server.limits.body", .integer(32768...16_777_216, "bytes"), into: \.server.limits.wire.body,
            "Longest request body; beyond it, 413.")
        Key(
            "server.limits.connections", .integer(1...1_000_000), into: \.server.limits.connections,
            "Open connections; further ones wait or are closed.")
        Key(
            "server.limits.connectionsPerAddress", .integer(1...1_000_000), into: \.server.limits.connectionsPerAddress,
            "Open connections from one address, unless it is in `server.trustedProxies`.")
        Key(
            "server.limits.handshakeTimeout", .milliseconds(1...60), into: \.server.limits.timeouts.handshake,
            "How long a TLS handshake may take.")
        Key(
            "server.limits.headerTimeout", .milliseconds(1...300), into: \.server.limits.timeouts.header,
            "From a request's first byte to the end of its header.")
        Key(
            "server.limits.bodyTimeout", .milliseconds(1...600), into: \.server.limits.timeouts.body,
            "From the end of the header to the end of the body.")
        Key(
            "server.limits.writeTimeout", .milliseconds(1...600), into: \.server.limits.timeouts.write,
            "How long a client may accept no bytes of a response.")
        Key(
            "server.limits.idleTimeout", .milliseconds(1...3600), into: \.server.limits.timeouts.idle,
            "How long a connection may wait for its next request.")
        Key(
            "server.limits.credentialChecks", .integer(1...1000, "checks a second"),
            into: \.server.limits.credentialChecks,
            "Rate of the [daily checks](../operate/jobs.md#daily-checks) of consent at Apple.")
        Key(
            "server.limits.signInsPerMinute", .integer(1...100_000), into: \.web.limits.signInsPerMinute,
            "[Sign-ins](api.md#rate-limits) from one address per minute. Raise it if many people share an address.")
        Key(
            "server.limits.exportsPerMinute", .integer(1...100_000), into: \.web.limits.exportsPerMinute,
            "Account exports from one address per minute.")
        Key(
            "server.limits.operatorPerMinute", .integer(1...100_000), into: \.web.limits.operatorPerMinute,
            "Requests for the [operator's page](../operate/operator.md) from one address per minute."
        )
    }

    @KeyList static var adminKeys: [Key] {
        Key(
            "admin.host", .ipAddress, into: \.admin.ip,
            "The address that serves `/healthz`, `/readyz` and `/metrics`. Never make it public.")
        Key("admin.port", .integer(1...65535), into: \.admin.port, "Its port, different from server.port.")
    }

    @KeyList static var logKeys: [Key] {
        Key("log.level", .choice, into: \.logLevel, "The least severe lines to write to standard error.")
        Key("log.format", .choice, into: \.logFormat, "One JSON object per line, or text for people.")
        Key(
            "log.requests", .choice, into: \.web.accessLog.requests,
            "Which [requests](../operate/operating.md#requests) are logged; `failures`: status 400 or more.")
        Key(
            "log.clients", .choice, into: \.web.accessLog.clients,
            "The client in a request's line: its network (/24 in IPv4, /48 in IPv6), its address, or nothing.")
    }
}
