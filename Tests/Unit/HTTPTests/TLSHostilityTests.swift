import COpenSSL
import HTTP
import Sockets
import Testing

/// Clients that hang, lie, or ask for what is not given.
@Suite struct TLSHostilityTests {
    static let versions = [TLS1_2_VERSION, TLS1_3_VERSION]

    private static let request = "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

    private func configuration(handshake: Int64 = 10_000, linger: Int64 = 2000) throws -> HTTPServerConfiguration {
        try HTTPServerConfiguration {
            $0.timeouts.handshake = handshake
            // An hour for the head: what ends a handshake is its own deadline.
            $0.timeouts.header = 3_600_000
            $0.timeouts.linger = linger
            $0.tls = try acceptor()
        }
    }

    /// Silence, the first byte, half a hello, a hello without an answer to ours.
    @Test(arguments: [0, 1, 60, Int.max]) func handshakeThatHangsIsClosedByItsDeadline(bytes: Int) async throws {
        let configuration = try configuration(handshake: 150)
        let elapsed = try await withServer(configuration: configuration) { peer in
            // The deadline runs from the connection on.
            let start = Deadline.now
            let client = TLSPeer(try await peer.connect())
            _ = try client.step()
            try await client.send(Array(client.takeOutput().prefix(bytes)))
            _ = await peer.readAll(client.stream)
            return (Deadline.now.nanoseconds - start.nanoseconds) / 1_000_000
        }
        #expect((140..<3_000_000).contains(elapsed))
        // Without a byte no handshake has begun: the loop closes what waits without a task.
        #expect(configuration.tls?.handshakes(.failed) == (bytes == 0 ? 0 : 1))
    }

    /// A byte now and then prolongs nothing.
    @Test func handshakeThatDripsIsClosedByItsDeadline() async throws {
        let configuration = try configuration(handshake: 150)
        let sent = try await withServer(configuration: configuration) { peer in
            let client = TLSPeer(try await peer.connect())
            _ = try client.step()
            var sent = 0
            for byte in client.takeOutput() {
                guard !client.stream.peerHasClosed, (try? await client.stream.write([byte])) != nil else { break }
                sent += 1
                _ = await peer.loop.sleep(until: Deadline.now.adding(milliseconds: 4))
            }
            return sent
        }
        #expect(sent < 100)
    }

    /// RFC 8446 §6.2: anything but TLS gets an alert, not silence or text.
    @Test(arguments: [
        [0x16, 0x03, 0x01, 0x00, 0x05, 0x02, 0x00, 0x00, 0x01, 0x00], [0x17, 0x03, 0x03, 0x00, 0x01, 0x00],
        [0x16, 0x03, 0x01, 0xff, 0xff] + [UInt8](repeating: 0, count: 200),
        [0x16, 0x03, 0x01, 0x00, 0x2c, 0x01, 0x00, 0x00, 0x28] + [UInt8](repeating: 0xff, count: 40),
    ])
    func garbageGetsAnAlert(bytes: [UInt8]) async throws {
        let configuration = try configuration()
        let answer = try await withServer(configuration: configuration) { peer in
            let stream = try await peer.connect()
            try await stream.write(bytes)
            stream.shutdownWrite()
            return Array(await peer.readAll(stream).utf8)
        }
        #expect(answer.first == 21)
        #expect(configuration.tls?.handshakes(.failed) == 1)
    }

    @Test(arguments: ["\0\0\0\0\0\0\0\0", "get / HTTP/1.1\r\n\r\n", "\u{80}hello", " "])
    func otherTextGetsNoHTTP(text: String) async throws {
        let answer = try await withServer(configuration: try configuration()) { peer in
            try await peer.exchange([text])
        }
        #expect(!answer.contains("HTTP"))
    }

    @Test(arguments: [
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "G", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "CONNECT x:443 HTTP/1.1\r\n\r\n",
    ])
    func plainHTTPGetsAnExplanation(text: String) async throws {
        let configuration = try configuration()
        let answer = try await withServer(configuration: configuration) { peer in
            // More than it reads, and after it: the answer arrives anyway.
            try await peer.exchange([text, String(repeating: "x", count: 100_000)])
        }
        #expect(answer.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
        #expect(answer.contains("Connection: close\r\n"))
        #expect(answer.hasSuffix("\r\n\r\n400 Bad Request: this port speaks https\n"))
        #expect(configuration.tls?.handshakes(.failed) == 1)
    }

    /// OpenSSL itself would take 128 KiB.
    @Test func hugeHelloIsClosed() async throws {
        let configuration = try configuration()
        let answer = try await withServer(configuration: configuration) { peer in
            let stream = try await peer.connect()
            // A hello of 100,000 bytes in records of 16,384.
            let hello = [1, 1, 0x86, 0xa0, 3, 3] + [UInt8](repeating: 0, count: 99_998)
            for start in stride(from: 0, to: hello.count, by: 16_384) {
                let part = hello[start..<min(start + 16_384, hello.count)]
                guard
                    (try? await stream.write([22, 3, 1, UInt8(part.count >> 8), UInt8(part.count & 255)] + part)) != nil
                else { break }
            }
            return await peer.readAll(stream)
        }
        #expect(!answer.contains("HTTP"))
        #expect(configuration.tls?.handshakes(.failed) == 1)
    }

    @Test(arguments: versions, [1, 100]) func clientThatLeavesMidHandshake(version: Int32, bytes: Int) async throws {
        let configuration = try configuration()
        try await withServer(configuration: configuration) { peer in
            let gone = TLSPeer(try await peer.connect(), version: version)
            _ = try gone.step()
            try await gone.send(Array(gone.takeOutput().prefix(bytes)))
            gone.stream.close()
            let client = try await peer.secure(version: version)
            try await client.write(Self.request)
            #expect(try await client.readAll().hasSuffix("GET /a "))
        }
    }

    @Test func renegotiationIsRefused() async throws {
        try await withServer(configuration: try configuration()) { peer in
            let client = try await peer.secure(version: TLS1_2_VERSION)
            try await client.send(client.sealRenegotiation())
            // RFC 5246 §7.2.2: a no_renegotiation warning, which OpenSSL's client takes for the end.
            do {
                _ = try await client.read()
                Issue.record("nothing was refused")
            } catch let failure as TLSPeer.Failure {
                #expect(failure.text.contains("no renegotiation"), "\(failure.text)")
            }
        }
    }

    /// Regression: OpenSSL writes nothing while it waits for the rest of a handshake message, and a writer that took that
    /// for a full socket asked again and again, without ever leaving its loop to the others.
    @Test func endlessMessageDoesNotDelayOthers() async throws {
        let configuration = try HTTPServerConfiguration {
            $0.timeouts.header = 200
            $0.tls = try acceptor()
        }
        try await withServer(configuration: configuration) { peer in
            let client = try await peer.secure(version: TLS1_2_VERSION)
            client.spreadHello()
            let begun = client.seal("G")
            let hello = client.sealRenegotiation()
            let first = 5 + (Int(hello[3]) << 8 | Int(hello[4]))
            #expect(first < hello.count, "it is all in one record")
            try await client.send(begun + hello.prefix(first))
            // The 408 that is due cannot be written.
            _ = await peer.readAll(client.stream)

            let other = try await peer.secure()
            try await other.write(Self.request)
            #expect(try await other.readAll().hasSuffix("GET /a "))
        }
    }

    /// Whoever asks again and again costs us answers, and is cut off.
    @Test func endlessRenegotiationIsClosed() async throws {
        try await withServer(configuration: try configuration()) { peer in
            let client = try await peer.secure(version: TLS1_2_VERSION)
            let record = client.sealRenegotiation()
            #expect(!record.isEmpty)
            // The same record once more has a wrong sequence number.
            try await client.send(record + record)
            _ = await peer.readAll(client.stream)
        }
    }

    @Test func keyUpdatesAreFollowed_AndAFloodIsClosed() async throws {
        try await withServer(configuration: try configuration()) { peer in
            let client = try await peer.secure()
            for _ in 0..<20 { try await client.send(client.sealKeyUpdate()) }
            try await client.write("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try await client.read(1).hasPrefix("HTTP"))

            var isCutOff = false
            flood: for _ in 0..<100 {
                var records: [UInt8] = []
                for _ in 0..<50 { records += client.sealKeyUpdate() }
                do { try await client.send(records) } catch { isCutOff = true }
                // Others are served meanwhile.
                let other = try await peer.secure()
                other.stream.close()
                if isCutOff || client.stream.peerHasClosed { break flood }
            }
            #expect(isCutOff || client.stream.peerHasClosed)
        }
    }

    /// The client believes that its ticket allows it: what it sent early is thrown away, and the handshake continues.
    @Test func earlyDataIsNotAccepted() async throws {
        try await withServer(configuration: try configuration()) { peer in
            let first = try await peer.secure()
            try await first.write(Self.request)
            _ = try await first.readAll()
            let session = try #require(first.session)
            #expect(session.earlyData == 0)
            session.earlyData = 16_384

            let client = TLSPeer(try await peer.connect(), session: session)
            try await client.send(try client.sealEarly("GET /early HTTP/1.1\r\nHost: x\r\n\r\n"))
            try await client.handshake()
            #expect(client.earlyDataWasRejected)
            #expect(client.isResumed)
            try await client.write(Self.request)
            let answer = try await client.readAll()
            #expect(answer.hasSuffix("GET /a "))
            #expect(!answer.contains("early"))
        }
    }
}
