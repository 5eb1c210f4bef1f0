import COpenSSL
import Certificates
import HTTP
import HTTPTypes
import Sockets
import Testing

/// HTTP/1.1 under TLS: the same answers, however the records are cut; parking, draining, closing, another certificate.
@Suite struct TLSConnectionTests {
    static let versions = [TLS1_2_VERSION, TLS1_3_VERSION]

    private static func request(_ path: String, close: Bool = false) -> String {
        "GET \(path) HTTP/1.1\r\nHost: x\r\n\(close ? "Connection: close\r\n" : "")\r\n"
    }

    @Test(arguments: versions) func sameAnswer_WhenRequestsAreCutIntoRecordsAtEveryByte(version: Int32) async throws {
        let requests = Self.request("/a") + "POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
        let expected = echoed("GET /a ") + echoed("POST /p abc")
        let answers = try await withServer(configuration: HTTPServerConfiguration { $0.tls = try acceptor() }) { peer in
            let client = try await peer.secure(version: version)
            var answers = Set<String>()
            for split in 0..<requests.count {
                let first = client.seal(String(requests.prefix(split)))
                let second = client.seal(String(requests.dropFirst(split)))
                // Two records: in one packet, in two, and with the second begun in the first packet.
                switch split % 3 {
                case 0: try await client.send(first + second)
                case 1:
                    try await client.send(first)
                    await Task.yield()
                    try await client.send(second)
                default:
                    try await client.send(first + second.prefix(4))
                    await Task.yield()
                    try await client.send(Array(second.dropFirst(4)))
                }
                answers.insert(try await client.read(expected.utf8.count))
            }
            return answers
        }
        #expect(answers == [expected])
    }

    /// More than OpenSSL hands out at once, and more than the socket takes.
    @Test(arguments: versions) func largeContentBothWays(version: Int32) async throws {
        let content = String(repeating: "0123456789abcdef", count: 60_000)
        let answer = try await withServer(
            configuration: HTTPServerConfiguration {
                $0.limits.body = 2_000_000
                $0.tls = try acceptor()
            }
        ) { peer in
            let client = try await peer.secure(version: version)
            var sealed = client.seal("POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: \(content.utf8.count)\r\n\r\n")
            var rest = Substring(content)
            while !rest.isEmpty {
                sealed += client.seal(String(rest.prefix(16_000)))
                rest = rest.dropFirst(16_000)
            }
            try await client.send(sealed)
            return try await client.read(echoed("POST /p " + content).utf8.count)
        }
        #expect(answer == echoed("POST /p " + content))
    }

    @Test(arguments: versions) func parkedConnectionServesItsNextRequest(version: Int32) async throws {
        let configuration = try HTTPServerConfiguration {
            $0.timeouts.parkAfter = 5
            $0.tls = try acceptor()
        }
        try await withServer(configuration: configuration) { peer in
            let client = try await peer.secure(version: version)
            for number in 0..<4 {
                _ = await peer.loop.sleep(until: Deadline.now.adding(milliseconds: 20))
                try await client.write(Self.request("/\(number)"))
                #expect(try await client.read(echoed("GET /0 ").utf8.count) == echoed("GET /\(number) "))
            }
            _ = await peer.loop.sleep(until: Deadline.now.adding(milliseconds: 20))
            // Woken by close_notify, it says the same and ends.
            try await client.send(client.sealCloseNotify())
            #expect(try await client.readAll().isEmpty)
        }
    }

    @Test func parkedConnectionIsClosedAtItsDeadline_WithCloseNotify() async throws {
        let configuration = try HTTPServerConfiguration {
            $0.timeouts.idle = 60
            $0.timeouts.parkAfter = 5
            $0.tls = try acceptor()
        }
        try await withServer(configuration: configuration) { peer in
            let client = try await peer.secure()
            try await client.write(Self.request("/a"))
            #expect(try await client.readAll() == echoed("GET /a "))
        }
    }

    @Test func requestSchemeIsHTTPS() async throws {
        struct SchemeHandler: RequestHandler {
            func respond(to request: ServerRequest) async -> ServerResponse {
                ServerResponse(status: .ok, body: .bytes(Array((request.head.scheme ?? "none").utf8)))
            }
        }
        let configuration = try HTTPServerConfiguration { $0.tls = try acceptor() }
        try await withServer(configuration: configuration, handler: SchemeHandler()) { peer in
            let client = try await peer.secure()
            try await client.write(Self.request("/a", close: true))
            #expect(try await client.readAll().hasSuffix("\r\n\r\nhttps"))
        }
    }

    @Test(arguments: versions) func brokenStreamIsATruncation(version: Int32) async throws {
        try await withServer(configuration: HTTPServerConfiguration { $0.tls = try acceptor() }) { peer in
            let client = try await peer.secure(version: version)
            try await client.write(Self.request("/cut"))
            let answer = try await client.readAll()
            #expect(answer.hasSuffix("4\r\npart\r\n"))
        }
    }

    /// RFC 8446 §6.1: without close_notify the content may not be whole. Nothing is done with it.
    @Test(arguments: versions) func contentThatEndsWithoutCloseNotifyIsNotHandled(version: Int32) async throws {
        try await withServer(configuration: HTTPServerConfiguration { $0.tls = try acceptor() }) { peer in
            let client = try await peer.secure(version: version)
            try await client.write("POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc")
            client.stream.shutdownWrite()
            await #expect(throws: TLSPeer.Failure.self) { _ = try await client.readAll() }
        }
    }

    @Test(arguments: versions) func earlyRefusalIsRead_WhileTheClientStillSends(version: Int32) async throws {
        let configuration = try HTTPServerConfiguration {
            $0.limits.body = 10
            $0.tls = try acceptor()
        }
        let answer = try await withServer(configuration: configuration) { peer in
            let client = try await peer.secure(version: version)
            try await client.write("POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 150000\r\n\r\n")
            for _ in 0..<10 { try await client.write(String(repeating: "x", count: 15_000)) }
            return try await client.readAll()
        }
        #expect(answer.hasPrefix("HTTP/1.1 413 "))
    }

    /// What OpenSSL has read together with the refused request is not waited for, nor read again and again.
    @Test(.timeLimit(.minutes(1)), arguments: versions)
    func refusalEnds_WithRecordsBehindTheRequest(version: Int32) async throws {
        let answer = try await withServer(configuration: HTTPServerConfiguration { $0.tls = try acceptor() }) { peer in
            let client = try await peer.secure(version: version)
            try await client.send(client.seal("GET / HTTP/1.1\nHost: x\n\n") + client.seal("and more"))
            return try await client.readAll()
        }
        #expect(answer.hasPrefix("HTTP/1.1 400 "))
    }

    @Test func drainingEndsIdleConnections_AndFinishesWhatWasBegun() async throws {
        let configuration = try HTTPServerConfiguration {
            $0.timeouts.parkAfter = 5
            $0.tls = try acceptor()
        }
        try await withServer(configuration: configuration) { peer in
            let idle = try await peer.secure()
            let silent = try await peer.connect()
            let half = TLSPeer(try await peer.connect())
            _ = try half.step()
            let hello = half.takeOutput()
            try await half.send(Array(hello.prefix(40)))
            // One round trip of another connection: what was sent before has come.
            _ = try await peer.secure()
            _ = await peer.loop.sleep(until: Deadline.now.adding(milliseconds: 30))
            peer.group.beginDrain(abortAfter: 10_000)
            #expect(try await idle.readAll().isEmpty)
            var buffer = [UInt8](repeating: 0, count: 10)
            #expect(try await silent.read(into: &buffer, at: 0) == 0)
            // A handshake that was begun ends, with its request answered.
            try await half.send(Array(hello.dropFirst(40)))
            try await half.receive()
            try await half.handshake()
            try await half.write(Self.request("/last"))
            #expect(try await half.readAll().hasSuffix("GET /last "))
        }
    }

    @Test func replacedCertificateIsForNewConnections_AndOldOnesGoOn() async throws {
        let acceptor = try acceptor("good")
        try await withServer(configuration: HTTPServerConfiguration { $0.tls = acceptor }) { peer in
            let old = try await peer.secure()
            let begun = TLSPeer(try await peer.connect())
            _ = try begun.step()
            try acceptor.replace(
                certificate: TestCertificates.pem("second"), privateKey: TestCertificates.privateKey("second"))
            let new = try await peer.secure()
            #expect(old.certificateName == "apple.test")
            #expect(new.certificateName == "second.test")
            for (client, path) in [(old, "/old"), (new, "/new")] {
                try await client.write(Self.request(path, close: true))
                #expect(try await client.readAll().hasSuffix("GET \(path) "))
            }
            // Tickets of before resume: the session continues, whatever the certificate.
            let resumed = try await peer.secure(session: old.session)
            #expect(resumed.isResumed)
        }
    }

    @Test(arguments: [("good", "second"), ("weak", "weak"), ("good", "encrypted")])
    func badPairIsRefused_AndTheOldOneIsKept(certificate: String, key: String) async throws {
        let acceptor = try acceptor("good")
        try await withServer(configuration: HTTPServerConfiguration { $0.tls = acceptor }) { peer in
            #expect(throws: TLSConfigurationError.self) {
                try acceptor.replace(
                    certificate: TestCertificates.pem(certificate), privateKey: TestCertificates.privateKey(key))
            }
            let client = try await peer.secure()
            #expect(client.certificateName == "apple.test")
        }
    }
}
