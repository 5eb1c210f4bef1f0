import HTTP
import HTTPTypes
import Loops
import Sockets
import Synchronization
import Testing

/// Which addresses a request may be sent to: it is decided by the address that is connected to, not by its spelling.
@Suite struct ReachTests {
    /// The requests of one client, in order, to a server at 127.0.0.1 that answers each.
    /// - Parameter behindProxy: the server is a proxy, asked for tunnels.
    private static func run(
        _ requests: [(url: String, reach: Reach)], behindProxy: Bool = false
    ) async throws -> (answers: [String], connections: Int) {
        let connections = Counter()
        let answers = try await onLoop(
            serving: { stream in
                connections.add()
                await serve(stream)
            },
            { loop, group in
                let port = try listen(on: loop).port
                let proxy = behindProxy ? ProxySettings(server: ProxyServer(host: "127.0.0.1", port: port)) : .direct
                let client = HTTPClient(group: group, tls: try TLSContext.client(), userAgent: "test/1.0", proxy: proxy)
                var answers: [String] = []
                for (text, reach) in requests {
                    answers.append(await send(text.replacing("PORT", with: "\(port)"), reach, by: client))
                }
                return answers
            })
        return (answers, connections.count)
    }

    private static func send(_ text: String, _ reach: Reach, by client: HTTPClient) async -> String {
        guard let url = ClientURL(text) else { return "no address" }
        var request = ClientRequest(method: .get, url: url)
        request.reach = reach
        do throws(HTTPClientError) {
            return "\(try await client.send(request).status.code)"
        } catch {
            return error == .inside ? "inside" : "\(error)"
        }
    }

    private static func serve(_ stream: SocketStream) async {
        stream.setDeadline(Deadline.now.adding(milliseconds: 120_000))
        defer { stream.close() }
        var buffer = [UInt8](repeating: 0, count: 8192)
        var length = 0
        while let count = try? await stream.read(into: &buffer, at: length), count > 0 {
            length += count
            // A head may come in pieces.
            guard buffer[..<length].suffix(4).elementsEqual("\r\n\r\n".utf8) else { continue }
            length = 0
            let answer = "HTTP/1.1 418 Here\r\nContent-Length: 0\r\n\r\n"
            guard (try? await stream.write(Array(answer.utf8))) != nil else { return }
        }
    }

    /// Numbers are names to the client: the system's resolver reads them as inet_aton(3) does.
    private static let spellings = [
        "127.0.0.1", "localhost", "LOCALHOST", "localhost.", "a.localhost", "[::1]", "[::ffff:127.0.0.1]",
        "[64:ff9b::127.0.0.1]", "2130706433", "0x7f000001", "0x7f.1", "127.1", "0177.0.0.1", "0", "169.254.169.254",
    ]

    @Test("non-public addresses are refused in any spelling", arguments: spellings)
    func inside(host: String) async throws {
        for scheme in ["http", "https"] {
            let run = try await Self.run([("\(scheme)://\(host):PORT/", .publicOnly)])
            #expect(run.answers == ["inside"] && run.connections == 0)
        }
    }

    /// What a name may resolve to that nobody on the internet may reach through this server.
    private static let forbidden = [
        "127.0.0.1", "127.255.255.254", "0.0.0.0", "10.0.0.1", "100.64.0.1", "169.254.169.254", "172.16.0.1",
        "192.168.1.1", "192.0.0.1", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
        "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "fc00::1", "fe80::1", "ff02::1", "2001:db8::1",
        "2001::1", "2002:7f00:1::", "::ffff:10.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b:1::1",
    ]

    private final class Left<Item: Sendable>: Sendable {
        let items: Mutex<[Item]>
        init(_ items: [Item]) { self.items = Mutex(items) }
    }

    /// Of a client whose resolver answers with one list after the other: what it was told, and what it connected to.
    private static func run(
        resolving lists: [[String]], _ reach: Reach, requests: Int = 1
    ) async throws -> (answers: [String], connected: [String]) {
        let (left, connected) = (Left(lists), Left<String>([]))
        let answers = try await onLoop(serving: serve) { loop, group in
            let server = try listen(on: loop)
            var network = ClientNetwork()
            network.resolve = { _, port, _, _ in
                let list = left.items.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
                return list.compactMap { IPAddress($0).map { SocketAddress(ip: $0, port: port) } }
            }
            network.connect = { (addresses, loop, deadline) async throws(StreamError) in
                connected.items.withLock { $0 += addresses.map { "\($0.ip)" } }
                return try await SocketStream.connect(to: [server], on: loop, deadline: deadline)
            }
            let client = HTTPClient(
                group: group, tls: try TLSContext.client(), userAgent: "test/1.0", network: network)
            var answers: [String] = []
            // Different ports: no connection is kept from one for the next.
            for number in 1...requests { answers.append(await send("http://a.example:\(number)/", reach, by: client)) }
            return answers
        }
        return (answers, connected.items.withLock { $0 })
    }

    @Test("no connection is made to a forbidden address, whatever name leads there", arguments: forbidden)
    func forbiddenAddress(address: String) async throws {
        let run = try await Self.run(resolving: [[address]], .publicOnly)
        #expect(run.answers == ["inside"] && run.connected.isEmpty)
    }

    @Test("of several addresses only the public ones are connected to")
    func mixed() async throws {
        let run = try await Self.run(resolving: [Self.forbidden + ["8.8.8.8"]], .publicOnly)
        #expect(run.answers == ["418"] && run.connected == ["8.8.8.8"])
    }

    @Test("a name that changes its mind is judged by the look-up that is connected to")
    func rebinding() async throws {
        let lists = [["8.8.8.8"], ["169.254.169.254"], ["8.8.4.4"], ["::ffff:127.0.0.1"]]
        let run = try await Self.run(resolving: lists, .publicOnly, requests: 4)
        #expect(run.answers == ["418", "inside", "418", "inside"] && run.connected == ["8.8.8.8", "8.8.4.4"])
    }

    @Test("a server for this machine alone reaches loopback, and nothing else that is internal", arguments: forbidden)
    func loopback(address: String) async throws {
        let run = try await Self.run(resolving: [[address]], .publicOrLoopback)
        let isLoopback = ["127.0.0.1", "127.255.255.254", "::1"].contains(address)
        #expect(run.answers == [isLoopback ? "418" : "inside"] && run.connected == (isLoopback ? [address] : []))
    }

    @Test("an operator's address may be internal")
    func operators() async throws {
        let run = try await Self.run([("http://127.0.0.1:PORT/", .anywhere), ("http://0x7f.1:PORT/", .anywhere)])
        #expect(run.answers == ["418", "418"])
    }

    @Test("a connection kept from an operator's request is not reused for public requests")
    func keptConnection() async throws {
        let run = try await Self.run([
            ("http://2130706433:PORT/", .anywhere), ("http://2130706433:PORT/", .publicOnly),
            ("http://2130706433:PORT/", .anywhere),
        ])
        #expect(run.answers == ["418", "inside", "418"] && run.connections == 1)
    }

    @Test("no proxy is asked for an internal address", arguments: spellings)
    func proxies(host: String) async throws {
        let run = try await Self.run([("https://\(host)/", .publicOnly)], behindProxy: true)
        #expect(run.answers == ["inside"] && run.connections == 0)
    }

    @Test("a name that does not resolve here is left to the proxy")
    func unresolved() async throws {
        let run = try await Self.run([("https://nobody.invalid/", .publicOnly)], behindProxy: true)
        #expect(run.connections == 1 && run.answers != ["inside"])
    }
}
