import HTTP
import LogRecording
import Sockets
import Testing

/// The PROXY protocol before HTTP, over real sockets. The proxy is on 127.0.0.1.
@Suite struct ProxyProtocolTests {
    private static let header = "PROXY TCP4 203.0.113.7 192.0.2.1 56324 443\r\n"
    private static let request = "GET /client HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 198.51.100.9\r\n\r\n"
    private static let local: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 0x51, 0x55, 0x49, 0x54, 10, 0x20, 0, 0, 0]

    private static func configuration(
        trusted: [String] = ["127.0.0.1"], timeouts: ServerTimeouts = ServerTimeouts()
    ) -> HTTPServerConfiguration {
        HTTPServerConfiguration {
            $0.timeouts = timeouts
            $0.trustedProxies = TrustedProxies(trusted.compactMap { IPNetwork($0) })
            $0.proxyProtocol = true
        }
    }

    private static func exchange(
        _ bytes: [UInt8], _ configuration: HTTPServerConfiguration = configuration(), halfClose: Bool = true,
        logger: LogRecorder = LogRecorder()
    ) async throws -> String {
        try await withServer(configuration: configuration, logger: logger.logger) { peer in
            let stream = try await peer.connect()
            try? await stream.write(bytes)
            if halfClose { stream.shutdownWrite() }
            return await peer.readAll(stream)
        }
    }

    struct Naming: Sendable, CustomTestStringConvertible {
        var name: String
        var header: [UInt8]
        var trusted = ["127.0.0.1"]
        var client: String
        var testDescription: String { name }
    }

    static let namings = [
        // The client could have sent the field: the proxy passed its bytes on.
        Naming(name: "a client's X-Forwarded-For is not believed", header: Array(header.utf8), client: "203.0.113.7"),
        Naming(
            name: "that of a proxy behind the proxy is", header: Array(header.utf8),
            trusted: ["127.0.0.1", "203.0.113.0/24"], client: "198.51.100.9"),
        Naming(name: "that of the proxy itself is", header: local, client: "198.51.100.9"),
        Naming(
            name: "that of somebody unknown is not", header: Array("PROXY UNKNOWN\r\n".utf8), client: "127.0.0.1"),
        Naming(
            name: "version 2",
            header: Array(local[..<12]) + [0x21, 0x11, 0, 12, 203, 0, 113, 7, 192, 0, 2, 1, 0xdc, 4, 1, 0xbb],
            client: "203.0.113.7"),
    ]

    @Test(arguments: namings) func clientIsTheOneNamedInTheHeader(_ test: Naming) async throws {
        let answer = try await Self.exchange(
            test.header + Array(Self.request.utf8), Self.configuration(trusted: test.trusted))
        #expect(answer.hasPrefix("HTTP/1.1 200 "))
        #expect(answer.hasSuffix("\r\n\r\n\(test.client)"))
    }

    @Test func headerAndRequestAreSeparated_AtEverySplit() async throws {
        let bytes = Array((Self.header + Self.request).utf8)
        let answers = try await withServer(configuration: Self.configuration()) { peer in
            var answers = Set<String>()
            for split in 1..<bytes.count {
                let stream = try await peer.connect()
                try await stream.write(Array(bytes[..<split]))
                await Task.yield()
                try await stream.write(Array(bytes[split...]))
                stream.shutdownWrite()
                answers.insert(await peer.readAll(stream))
            }
            return answers
        }
        #expect(answers.count == 1)
        #expect(answers.first?.hasSuffix("\r\n\r\n203.0.113.7") == true)
    }

    @Test func byteByByte() async throws {
        let answer = try await withServer(configuration: Self.configuration()) { peer in
            let stream = try await peer.connect()
            for byte in (Self.header + Self.request).utf8 {
                try await stream.write([byte])
                await Task.yield()
            }
            stream.shutdownWrite()
            return await peer.readAll(stream)
        }
        #expect(answer.hasSuffix("\r\n\r\n203.0.113.7"))
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        var name: String
        var sent: String
        var trusted = ["127.0.0.1"]
        var reason: String
        var testDescription: String { name }
    }

    static let refusals = [
        Refusal(name: "no header", sent: request, reason: "it does not begin with a PROXY header"),
        Refusal(
            name: "an invalid one", sent: "PROXY TCP4 203.0.113.7 192.0.2.1 56324\r\n" + request,
            reason: "malformed PROXY line"),
        Refusal(
            name: "from anybody", sent: header + request, trusted: ["10.0.0.0/8"],
            reason: "it is not from one of server.trustedProxies"),
        Refusal(
            name: "from anybody when nobody is trusted", sent: header + request, trusted: [],
            reason: "it is not from one of server.trustedProxies"),
        Refusal(
            name: "half a header, then the end", sent: "PROXY TCP4 203", reason: "it ended within its PROXY header"),
    ]

    @Test(arguments: refusals) func closedWithoutAnAnswer_AndLogged(_ test: Refusal) async throws {
        let log = LogRecorder()
        let answer = try await Self.exchange(
            Array(test.sent.utf8), Self.configuration(trusted: test.trusted), logger: log)
        #expect(answer.isEmpty)
        let line = log.lines.first { $0.contains("connection refused by server.proxyProtocol") }
        #expect(line?.hasPrefix("warning ") == true)
        #expect(line?.contains(test.reason) == true)
        #expect(line?.contains("127.0.0.1") == true)
    }

    @Test func warningsDoNotFloodTheLog() async throws {
        let log = LogRecorder()
        try await withServer(configuration: Self.configuration(), logger: log.logger) { peer in
            for _ in 0..<20 { _ = try await peer.exchange(["GET / HTTP/1.1\r\n"]) }
        }
        #expect(log.lines.count { $0.hasPrefix("warning ") } == 1)
        #expect(log.lines.count { $0.hasPrefix("debug connection refused by server.proxyProtocol") } == 19)
    }

    /// A load balancer's check that only connects is not a mistake of anybody's.
    @Test func nothingIsLogged_WhenAConnectionEndsBeforeItsFirstByte() async throws {
        let log = LogRecorder()
        #expect(try await Self.exchange([], logger: log).isEmpty)
        #expect(log.lines.isEmpty)
    }

    @Test func slowHeaderIsClosed() async throws {
        let log = LogRecorder()
        let timeouts = ServerTimeouts { $0.header = 60 }
        let answer = try await Self.exchange(
            Array("PROXY TCP4 203.0.113.7".utf8), Self.configuration(timeouts: timeouts), halfClose: false,
            logger: log)
        #expect(answer.isEmpty)
        #expect(log.lines.contains { $0.contains("its PROXY header did not come in time") })
    }

    @Test func dripDoesNotProlongTheDeadline() async throws {
        let timeouts = ServerTimeouts { $0.header = 60 }
        let written = try await withServer(configuration: Self.configuration(timeouts: timeouts)) { peer in
            let stream = try await peer.connect()
            var written = 0
            for byte in ("PROXY UNKNOWN " + String(repeating: "f", count: 90)).utf8 {
                guard (try? await stream.write([byte])) != nil, !stream.peerHasClosed else { break }
                written += 1
                _ = await peer.loop.sleep(until: Deadline.now.adding(milliseconds: 4))
            }
            return written
        }
        #expect(written < 60)
    }

    @Test func connectionThatNeverSentItsHeaderEnds_WhenTheServerDrains() async throws {
        let answer = try await withServer(configuration: Self.configuration()) { peer in
            let stream = try await peer.connect()
            // Its task waits for the header when a later connection has been answered.
            _ = try await peer.exchange([Self.header + Self.request])
            peer.group.beginDrain()
            return await peer.readAll(stream)
        }
        #expect(answer.isEmpty)
    }

    @Test func headerIsReadOnce_WhenTheConnectionWasParked() async throws {
        let timeouts = ServerTimeouts { $0.parkAfter = 5 }
        let answer = try await withServer(configuration: Self.configuration(timeouts: timeouts)) { peer in
            let stream = try await peer.send(Self.header + Self.request)
            _ = try await readResponse(from: stream)
            _ = await peer.loop.sleep(until: Deadline.now.adding(milliseconds: 20))
            try await stream.write(Array(Self.request.utf8))
            stream.shutdownWrite()
            return await peer.readAll(stream)
        }
        #expect(answer.hasSuffix("\r\n\r\n203.0.113.7"))
    }

    /// The proxy itself may have any number; whom it names may not.
    @Test(arguments: [
        ("TCP4 203.0.113.7 192.0.2.1", "TCP4 203.0.113.7 192.0.2.1", "TCP4 203.0.113.8 192.0.2.1"),
        ("TCP6 2001:db8::7 2001:db8::1", "TCP6 2001:db8::8 2001:db8::1", "TCP6 2001:db8:0:1::7 2001:db8::1"),
    ])
    func connectionsAreCountedUnderTheAddressNamed(_ first: String, _ same: String, _ other: String) async throws {
        let proxy = IPAddress.v4(0x7F00_0001)
        let admission = AdmissionControl(maximum: 100, maximumPerAddress: 2, exempt: { $0 == proxy })
        let answers = try await withServer(configuration: Self.configuration(), admission: admission) { peer in
            func open(_ named: String) async throws -> (SocketStream, Bool) {
                let stream = try await peer.send("PROXY \(named) 1 2\r\n\(Self.request)")
                return (stream, (try? await readResponse(from: stream)) != nil)
            }
            let (one, isOneServed) = try await open(first)
            let (_, isTwoServed) = try await open(same)
            let (_, isThreeServed) = try await open(same)
            let (_, isOtherServed) = try await open(other)
            one.close()
            while admission.total > 3 { await Task.yield() }
            let (_, isLaterServed) = try await open(same)
            return [isOneServed, isTwoServed, isThreeServed, isOtherServed, isLaterServed]
        }
        #expect(answers == [true, true, false, true, true])
        #expect(admission.total == 0)
    }
}
