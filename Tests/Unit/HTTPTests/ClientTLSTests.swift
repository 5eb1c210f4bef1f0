import HTTPTypes
import Sockets
import Synchronization
import Testing

@testable import HTTP

/// A client's TLS settings are made once, and only when something is fetched by https.
@Suite struct ClientTLSTests {
    @Test func madeOnceForAllThatAsk() throws {
        let count = Mutex(0)
        let tls = ClientTLS { () throws(StreamError) in
            count.withLock { $0 += 1 }
            return try TLSContext.client()
        }
        #expect(count.withLock { $0 } == 0)
        let first = try tls.context()
        let second = try tls.context()
        #expect(first === second)
        #expect(count.withLock { $0 } == 1)
    }

    @Test func failureIsNotKept() throws {
        let count = Mutex(0)
        let tls = ClientTLS { () throws(StreamError) in
            let number = count.withLock {
                $0 += 1
                return $0
            }
            if number == 1 { throw .tls("no store") }
            return try TLSContext.client()
        }
        #expect(throws: StreamError.tls("no store")) { try tls.context() }
        _ = try tls.context()
        #expect(count.withLock { $0 } == 2)
    }

    @Test func plainRequestNeedsNone() async throws {
        let count = Mutex(0)
        let status = try await withServer { peer in
            let client = HTTPClient(
                group: peer.group,
                tls: try { () throws(StreamError) in
                    count.withLock { $0 += 1 }
                    return try TLSContext.client()
                }(), userAgent: "test")
            let url = ClientURL(isSecure: false, host: "127.0.0.1", port: peer.address.port, target: "/a")
            return try await client.send(ClientRequest(method: .get, url: url)).status.code
        }
        #expect(status == 200)
        #expect(count.withLock { $0 } == 0)
    }
}
