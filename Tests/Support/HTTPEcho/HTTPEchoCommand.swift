import ArgumentParser
import HTTP
import Logging
import Sockets

@main
struct HTTPEchoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "http-echo",
        abstract: "Answers every request with what the server understood of it, as JSON.",
        discussion: """
            The same HTTP server as Bramley's, with nothing behind it: for conformance suites, fuzzers and load \
            generators. The first line printed is its address. SIGTERM ends it once the requests in flight are \
            answered. See docs/contribute/testing.md.
            """)

    @Option(help: "The address to listen on.") var host = "127.0.0.1"
    @Option(help: "The port to listen on; 0 takes a free one.") var port: UInt16 = 0
    @Option(help: "Event loops; 0 makes one per core.") var threads = 1
    @Option(help: ArgumentHelp("A proxy whose X-Forwarded-For counts; may be given again.", valueName: "cidr"))
    var trustedProxy: [String] = []
    @Flag(help: "Every connection begins with a PROXY header, and comes from a trusted proxy.")
    var proxyProtocol = false
    @Option(help: ArgumentHelp("The certificate chain in PEM: TLS, with HTTP/2 offered.", valueName: "file"))
    var certificate: String?
    @Option(help: ArgumentHelp("Its private key in PEM.", valueName: "file")) var privateKey: String?
    @OptionGroup(title: "Limits") var limits: LimitOptions
    @OptionGroup(title: "Timeouts, in milliseconds") var timeouts: TimeoutOptions
    @Flag(help: "Log every refusal.") var verbose = false

    func run() async throws {
        var logger = Logger(label: "http-echo")
        logger.logLevel = verbose ? .debug : .info
        let server = try EchoServer(
            configuration: try makeConfiguration(), address: try makeAddress(), threads: threads,
            admission: AdmissionControl(
                maximum: limits.maxConnections, maximumPerAddress: limits.maxConnectionsPerAddress),
            logger: logger)
        let name = (certificate == nil ? "http://" : "https://") + (host.contains(":") ? "[\(host)]" : host)
        // Unbuffered: a program that started us through a pipe waits for this line.
        try StandardStream.output.write(Array("\(name):\(server.address.port)\n".utf8))
        try await server.runUntilSignalled(drainTimeout: timeouts.drainTimeout)
    }

    private func makeAddress() throws -> SocketAddress {
        guard let ip = IPAddress(host) else { throw ValidationError("--host \(host) is not an IP address.") }
        return SocketAddress(ip: ip, port: port)
    }

    private func makeConfiguration() throws -> HTTPServerConfiguration {
        let networks = try trustedProxy.map { text in
            guard let network = IPNetwork(text) else {
                throw ValidationError("--trusted-proxy \(text) is not an address or network.")
            }
            return network
        }
        return try HTTPServerConfiguration {
            $0.limits = limits.wire
            $0.timeouts = timeouts.server
            $0.trustedProxies = TrustedProxies(networks)
            $0.proxyProtocol = proxyProtocol
            $0.tls = try makeAcceptor()
        }
    }

    private func makeAcceptor() throws -> TLSAcceptor? {
        guard let certificate, let privateKey else {
            guard certificate == nil, privateKey == nil else {
                throw ValidationError("--certificate and --private-key go together.")
            }
            return nil
        }
        do {
            return try TLSAcceptor(
                certificate: try Self.contents(certificate), privateKey: try Self.contents(privateKey))
        } catch let error as TLSConfigurationError {
            throw ValidationError("TLS: \(error)")
        }
    }

    private static func contents(_ path: String) throws -> [UInt8] {
        do {
            let file = try InputFile(path: path)
            var bytes: [UInt8] = []
            while try file.read(65_536, appendingTo: &bytes) > 0 {}
            return bytes
        } catch {
            throw ValidationError("\(path) cannot be read: \(error).")
        }
    }
}
