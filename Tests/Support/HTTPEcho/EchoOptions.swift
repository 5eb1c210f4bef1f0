import ArgumentParser
import HTTP

/// Every limit of the server, by its own name; the defaults are the server's.
struct LimitOptions: ParsableArguments {
    @Option(help: "Bytes of the request line; beyond it 414.") var maxRequestLine = WireLimits().requestLine
    @Option(help: "Bytes of all field lines; beyond it 431.") var maxHeaderBlock = WireLimits().headerBlock
    @Option(help: "Field lines; beyond it 431.") var maxFields = WireLimits().fieldCount
    @Option(help: "Bytes of the content; beyond it 413.") var maxBody = WireLimits().body
    @Option(help: "Bytes of one chunk-size line; beyond it 400.") var maxChunkLine = WireLimits().chunkLine
    @Option(help: "Bytes of all chunk extensions; beyond it 400.")
    var maxChunkExtensions = WireLimits().chunkExtensions
    @Option(help: "Bytes of the trailer section; beyond it 431.") var maxTrailers = WireLimits().trailerBlock
    @Option(help: "Connections open at once.") var maxConnections = 10_000
    @Option(help: "Of them, from one address.") var maxConnectionsPerAddress = 10_000

    var wire: WireLimits {
        WireLimits {
            $0.requestLine = maxRequestLine
            $0.headerBlock = maxHeaderBlock
            $0.fieldCount = maxFields
            $0.body = maxBody
            $0.chunkLine = maxChunkLine
            $0.chunkExtensions = maxChunkExtensions
            $0.trailerBlock = maxTrailers
        }
    }
}

/// Every deadline of the server; the defaults are the server's.
struct TimeoutOptions: ParsableArguments {
    @Option(help: "For a TLS handshake.") var handshakeTimeout = ServerTimeouts().handshake
    @Option(help: "For a whole head.") var headerTimeout = ServerTimeouts().header
    @Option(help: "For the content.") var bodyTimeout = ServerTimeouts().body
    @Option(help: "For output to be taken.") var writeTimeout = ServerTimeouts().write
    @Option(help: "Between two requests.") var idleTimeout = ServerTimeouts().idle
    @Option(help: "Idle for this long, a connection gives its buffers back.") var parkAfter = ServerTimeouts().parkAfter
    @Option(help: "Input is still read for this long after the end of our side.")
    var lingerTimeout = ServerTimeouts().linger
    @Option(help: "For requests in flight after SIGTERM.") var drainTimeout: Int64 = 10_000

    var server: ServerTimeouts {
        ServerTimeouts {
            $0.handshake = handshakeTimeout
            $0.header = headerTimeout
            $0.body = bodyTimeout
            $0.write = writeTimeout
            $0.idle = idleTimeout
            $0.parkAfter = parkAfter
            $0.linger = lingerTimeout
        }
    }
}
