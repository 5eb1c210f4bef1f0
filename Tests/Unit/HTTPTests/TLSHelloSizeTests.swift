import HTTP
import Sockets
import Testing

/// How long a hello may be, counted by what it is and not by how it comes.
@Suite struct TLSHelloSizeTests {
    /// A ClientHello of so many bytes, most of them of an extension that nobody knows, in records of at most `record`.
    /// - Parameter hasKeyShare: without one the server asks for another hello.
    private static func hello(_ size: Int, record: Int, hasKeyShare: Bool = true) -> [UInt8] {
        func extensionBytes(_ type: UInt16, _ body: [UInt8]) -> [UInt8] { two(Int(type)) + two(body.count) + body }
        func two(_ value: Int) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 255)] }
        let fixed: [UInt8] =
            [3, 3] + [UInt8](repeating: 7, count: 32) + [0] + [0, 2, 0x13, 0x01] + [1, 0]
        let needed =
            extensionBytes(43, [2, 3, 4]) + extensionBytes(10, [0, 2, 0, 29])
            + extensionBytes(13, [0, 4, 4, 3, 8, 4])
            + extensionBytes(51, hasKeyShare ? [0, 36, 0, 29, 0, 32] + [UInt8](repeating: 9, count: 32) : [0, 0])
        let rest = size - 4 - fixed.count - 2 - needed.count - 4
        let extensions = needed + extensionBytes(0xFA_FA, [UInt8](repeating: 0, count: rest))
        let body = fixed + two(extensions.count) + extensions
        let message = [1, UInt8(body.count >> 16)] + two(body.count & 0xFFFF) + body
        return stride(from: 0, to: message.count, by: record).flatMap { start in
            let part = message[start..<min(start + record, message.count)]
            return [22, 3, 1] + two(part.count) + part
        }
    }

    /// The handshake's time ends much later than any test.
    private static func configuration() throws -> HTTPServerConfiguration {
        try HTTPServerConfiguration {
            $0.timeouts.handshake = 60_000
            $0.timeouts.linger = 50
            $0.tls = try acceptor()
        }
    }

    /// The type and the first bytes of what the server answers.
    private static func answer(to hello: [UInt8], pieces: Int?) async throws -> [UInt8] {
        try await withServer(configuration: try configuration()) { peer in
            let stream = try await peer.connect()
            let size = pieces ?? hello.count
            for start in stride(from: 0, to: hello.count, by: size) {
                // It may have been refused by now.
                guard (try? await stream.write(Array(hello[start..<min(start + size, hello.count)]))) != nil else {
                    break
                }
                if pieces != nil { await Task.yield() }
            }
            defer { stream.close() }
            return await read(7, from: stream)
        }
    }

    /// So many bytes, or those that came before the end.
    private static func read(_ count: Int, from stream: SocketStream) async -> [UInt8] {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: count)
        while all.count < count, let more = try? await stream.read(into: &buffer, at: all.count), more > 0 {
            all += buffer[all.count..<all.count + more]
        }
        return all
    }

    private static let cuts: [Int?] = [nil, 7, 999, 16_389, 32_000]

    /// At the limit of 32,768 bytes, records' headers included, and one past it: the same answer for every cut. Regression:
    /// in one piece twice as much was taken, in several less, and then the connection ended without a word.
    @Test(arguments: cuts, [16_384, 5000]) func theSameBytesGetTheSameAnswer(pieces: Int?, record: Int) async throws {
        let records = (32_768 + record - 1) / record
        let longest = 32_768 - 5 * records
        let taken = Self.hello(longest, record: record)
        let refused = Self.hello(longest + 1, record: record)
        #expect(taken.count == 32_768 && refused.count == 32_769)
        // A handshake record with a ServerHello.
        let answer = try await Self.answer(to: taken, pieces: pieces)
        #expect(answer.first == 22 && answer.dropFirst(5).first == 2, "\(answer)")
        // RFC 8446 §6: an alert, fatal, record_overflow.
        let alert = try await Self.answer(to: refused, pieces: pieces)
        #expect(alert.first == 21 && alert.suffix(4) == [0, 2, 2, 22], "\(alert)")
    }

    /// The last bytes of what the server sends until it closes.
    private static func end(of pieces: [[UInt8]]) async throws -> [UInt8] {
        try await withServer(configuration: try configuration()) { peer in
            let stream = try await peer.connect()
            defer { stream.close() }
            for piece in pieces.dropLast() {
                try await stream.write(piece)
                // The record that asks for more.
                let header = await read(5, from: stream)
                try #require(header.count == 5)
                _ = await read(Int(header[3]) << 8 | Int(header[4]), from: stream)
            }
            if let last = pieces.last { try? await stream.write(last) }
            return await read(16_384, from: stream).suffix(7)
        }
    }

    /// Regression: OpenSSL allocated what a hello of 25 bytes announced, 131,000.
    @Test(arguments: [1, 3, 4, 20]) func aHelloThatAnnouncesTooMuchIsRefusedByItsHeader(record: Int) async throws {
        let start: [UInt8] = [1, 1, 0xFF, 0xB8] + [UInt8](repeating: 3, count: 16)
        let bytes = stride(from: 0, to: start.count, by: record).flatMap { index in
            let part = start[index..<min(index + record, start.count)]
            return [22, 3, 1, 0, UInt8(part.count)] + part
        }
        #expect(try await Self.end(of: [bytes]).suffix(4) == [0, 2, 2, 22])
        // The one that the server asks for, too.
        let first = Self.hello(300, record: 300, hasKeyShare: false)
        #expect(try await Self.end(of: [first, bytes]).suffix(4) == [0, 2, 2, 22])
    }

    /// Regression: half a handshake cost 33 KB that nobody counted.
    @Test func halfAHandshakeIsCounted() async throws {
        let configuration = try HTTPServerConfiguration {
            $0.timeouts.handshake = 60_000
            $0.tls = try acceptor()
        }
        try await withServer(configuration: configuration) { peer in
            let stream = try await peer.connect()
            try await stream.write(Array(Self.hello(300, record: 300).prefix(100)))
            let limit = Deadline.now.adding(milliseconds: 60_000)
            while configuration.memory.used == 0, Deadline.now < limit { await Task.yield() }
            #expect(configuration.memory.used > 16_000)
            stream.close()
            while configuration.memory.used > 0, Deadline.now < limit { await Task.yield() }
            #expect(configuration.memory.used == 0)
        }
    }

    /// What comes behind the handshake is no part of it, also when it comes in one segment with it.
    @Test func contentAfterTheHandshakeIsNotCounted() async throws {
        let configuration = try HTTPServerConfiguration { $0.tls = try acceptor() }
        try await withServer(configuration: configuration) { peer in
            let client = TLSPeer(try await peer.connect())
            _ = try client.step()
            try await client.send(client.takeOutput())
            while try !client.step() { try await client.receive() }
            var bytes = client.takeOutput()
            let content = String(repeating: "x", count: 60_000)
            bytes += client.seal("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\nConnection: close\r\n\r\n")
            for start in stride(from: 0, to: 60_000, by: 15_000) {
                bytes += client.seal(String(content.dropFirst(start).prefix(15_000)))
            }
            try await client.send(bytes)
            #expect(try await client.readAll().hasSuffix("POST /a " + content))
        }
    }
}
