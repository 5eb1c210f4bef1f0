import COpenSSL
import Certificates
import HTTP
import Sockets
import Synchronization
import Testing

/// Sessions resumed by tickets, and what no longer resumes.
@Suite struct TLSResumptionTests {
    static let versions = [TLS1_2_VERSION, TLS1_3_VERSION]
    private static let hour: Int64 = 3_600_000

    /// A clock that tests set.
    private final class Clock: Sendable {
        private let time = Mutex(Deadline(nanoseconds: 0))

        func advance(milliseconds: Int64) { time.withLock { $0 = $0.adding(milliseconds: milliseconds) } }

        var now: Deadline { time.withLock { $0 } }
    }

    /// One request on a connection of its own; whether it was resumed, and the session for the next.
    private func visit(
        _ peer: Peer, version: Int32, session: TLSPeer.Session? = nil
    ) async throws -> (isResumed: Bool, session: TLSPeer.Session) {
        let client = try await peer.secure(version: version, session: session)
        try await client.write("GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        #expect(try await client.readAll().hasSuffix("GET /a "))
        client.stream.close()
        return (client.isResumed, try #require(client.session))
    }

    @Test(arguments: versions) func ticketResumes(version: Int32) async throws {
        let acceptor = try acceptor()
        try await withServer(configuration: HTTPServerConfiguration { $0.tls = acceptor }) { peer in
            let first = try await visit(peer, version: version)
            #expect(!first.isResumed)
            #expect(!first.session.ticket.isEmpty)
            // RFC 8446 §4.6.1: seven days at most.
            #expect(first.session.lifetime == TicketKeys.ticketLifetime)
            #expect(TicketKeys.ticketLifetime <= 604_800)
            let second = try await visit(peer, version: version, session: first.session)
            #expect(second.isResumed)
            // TLS 1.3 gives a new one each time, TLS 1.2 keeps the one that is good.
            #expect((second.session.ticket == first.session.ticket) == (version == TLS1_2_VERSION))
            #expect(try await visit(peer, version: version, session: second.session).isResumed)
        }
        #expect(acceptor.handshakes(.full) == 1)
        #expect(acceptor.handshakes(.resumed) == 2)
    }

    @Test(arguments: versions) func ticketOfAnOlderKeyResumes_AndIsReplaced(version: Int32) async throws {
        let clock = Clock()
        let acceptor = try acceptor(clock: { clock.now })
        try await withServer(configuration: HTTPServerConfiguration { $0.tls = acceptor }) { peer in
            let first = try await visit(peer, version: version)
            clock.advance(milliseconds: Self.hour)
            // Somebody else's handshake makes the new key.
            _ = try await visit(peer, version: version)
            #expect(acceptor.ticketKeys.count == 2)
            let second = try await visit(peer, version: version, session: first.session)
            #expect(second.isResumed)
            #expect(second.session.ticket.prefix(16) != first.session.ticket.prefix(16))
            #expect(try await visit(peer, version: version, session: second.session).isResumed)
        }
    }

    @Test(arguments: versions) func ticketResumes_UntilItsKeyIsGone(version: Int32) async throws {
        let clock = Clock()
        let acceptor = try acceptor(clock: { clock.now })
        try await withServer(configuration: HTTPServerConfiguration { $0.tls = acceptor }) { peer in
            let first = try await visit(peer, version: version)
            clock.advance(milliseconds: TicketKeys.sealingTime + Int64(TicketKeys.ticketLifetime) * 1000 - 1)
            #expect(try await visit(peer, version: version, session: first.session).isResumed)
            clock.advance(milliseconds: 1)
            #expect(try await !visit(peer, version: version, session: first.session).isResumed)
            #expect(acceptor.ticketKeys.count == 1)
        }
    }

    @Test func keysAreFewAndExpireWithoutHandshakes() async throws {
        let clock = Clock()
        let acceptor = try acceptor(clock: { clock.now })
        try await withServer(configuration: HTTPServerConfiguration { $0.tls = acceptor }) { peer in
            for _ in 0..<12 {
                _ = try await visit(peer, version: TLS1_3_VERSION)
                clock.advance(milliseconds: Self.hour)
            }
        }
        // One an hour, for the hour and four more.
        #expect(acceptor.ticketKeys.count == 5)
        clock.advance(milliseconds: 5 * Self.hour)
        acceptor.ticketKeys.dropExpired()
        #expect(acceptor.ticketKeys.count == 0)
    }

    /// The name of the key, the vector, the sealed state, the MAC.
    @Test(arguments: versions, [0, 15, 16, 31, 32, 80, -1, -32])
    func changedTicketGetsAFullHandshake(version: Int32, place: Int) async throws {
        let acceptor = try acceptor()
        try await withServer(configuration: HTTPServerConfiguration { $0.tls = acceptor }) { peer in
            let session = try await visit(peer, version: version).session
            let place = place < 0 ? session.ticket.count + place : place
            let changed = try #require(session.changed(at: place))
            #expect(changed.ticket != session.ticket)
            #expect(try await !visit(peer, version: version, session: changed).isResumed)
            #expect(try await visit(peer, version: version, session: session).isResumed)
        }
    }

    @Test(arguments: versions) func ticketOfAnotherServerGetsAFullHandshake(version: Int32) async throws {
        let session = try await withServer(configuration: HTTPServerConfiguration { $0.tls = try acceptor() }) { peer in
            Box(try await visit(peer, version: version).session)
        }
        try await withServer(configuration: HTTPServerConfiguration { $0.tls = try acceptor() }) { peer in
            let next = try await visit(peer, version: version, session: session.value)
            #expect(!next.isResumed)
        }
    }

    /// Any loop opens what another sealed.
    @Test(arguments: versions) func loopsShareTheKeys(version: Int32) async throws {
        let acceptor = try acceptor()
        try await withServer(configuration: HTTPServerConfiguration { $0.tls = acceptor }, loops: 2) { peer in
            var session = try await visit(peer, version: version).session
            for _ in 0..<16 {
                let next = try await visit(peer, version: version, session: session)
                #expect(next.isResumed)
                session = next.session
            }
        }
    }

    @Test func withoutRandomnessConnectionsWorkWithoutTickets() async throws {
        let good = try acceptor()
        let bad = try TLSAcceptor(
            certificate: TestCertificates.pem("good"), privateKey: TestCertificates.privateKey("good"),
            protocols: [.http1], random: { _ in [] })
        #expect(good.ticketKeys.count == 0)
        try await withServer(configuration: HTTPServerConfiguration { $0.tls = bad }) { peer in
            _ = try await visit(peer, version: TLS1_2_VERSION)
        }
        #expect(bad.ticketKeys.count == 0)
    }

    /// The session of a test goes from its task to another of the same test.
    private final class Box: @unchecked Sendable {
        let value: TLSPeer.Session
        init(_ value: TLSPeer.Session) { self.value = value }
    }
}
