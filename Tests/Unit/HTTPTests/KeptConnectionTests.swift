import Certificates
import HTTP
import HTTPTypes
import Loops
import Testing

@testable import Sockets

/// What the client makes of a kept connection on which something has come that nobody asked for.
@Suite struct KeptConnectionTests {
    /// What the server sends beside its first answer.
    enum Extra: Sendable, CaseIterable {
        case nothing
        /// In the same record, or segment, as the answer.
        case answerAlong
        /// Behind it, in a record of its own.
        case answerBehind
        /// The end of the stream.
        case end
    }

    private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"
    private static let unasked = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"

    /// The contents of three answers, and how many connections they took.
    private static func run(_ extra: Extra, isSecure: Bool) async throws -> (contents: [String], connections: Int) {
        let server = try TLSContext.server(
            certificate: try TestCertificates.pem("good"), privateKey: try TestCertificates.privateKey("good"),
            ticketKeys: TicketKeys(random: TLSAcceptor.systemRandom, clock: { Deadline.now }))
        let trust = try TLSContext.client(trusting: "\(try TestCertificates.folder())/ca.pem")
        let connections = Counter()
        let contents = try await onLoop(
            serving: { stream in
                connections.add()
                stream.setDeadline(Deadline.now.adding(milliseconds: 120_000))
                if isSecure, (try? await stream.startTLS(server, serverName: nil)) == nil { return stream.close() }
                await serve(stream, extra)
                stream.close()
            },
            { loop, group in
                let port = try listen(on: loop).port
                let client = HTTPClient(group: group, tls: trust, userAgent: "test/1.0")
                let url = ClientURL(isSecure: isSecure, host: "127.0.0.1", port: port, target: "/")
                var contents: [String] = []
                for _ in 0..<3 {
                    do throws(HTTPClientError) {
                        let response = try await client.send(ClientRequest(method: .get, url: url))
                        contents.append(String(decoding: response.body, as: UTF8.self))
                    } catch {
                        contents.append("\(error)")
                    }
                    // Until what the server has sent is there: it is in one process with the client, on one loop.
                    for _ in 0..<20 { await Task.yield() }
                }
                return contents
            })
        return (contents, connections.count)
    }

    private static func serve(_ stream: SocketStream, _ extra: Extra) async {
        var buffer = [UInt8](repeating: 0, count: 8192)
        var request: [UInt8] = []
        while let count = try? await stream.read(into: &buffer, at: 0), count > 0 {
            request += buffer[..<count]
            guard request.suffix(4) == [13, 10, 13, 10] else { continue }
            request = []
            let first = extra == .answerAlong ? answer + unasked : answer
            guard (try? await stream.write(Array(first.utf8))) != nil else { return }
            switch extra {
            case .nothing, .answerAlong: break
            case .answerBehind: try? await stream.write(Array(unasked.utf8))
            case .end: return
            }
        }
    }

    /// Regression: under TLS nothing was looked for, and the answer nobody asked for was taken for that to the next
    /// request. Session tickets, which come before the first answer, are no such thing.
    @Test(arguments: Extra.allCases, [false, true])
    func aConnectionWithUnreadBytesIsNotUsedAgain(extra: Extra, isSecure: Bool) async throws {
        let (contents, connections) = try await Self.run(extra, isSecure: isSecure)
        #expect(contents == ["good", "good", "good"])
        #expect(connections == (extra == .nothing ? 1 : 3))
    }
}
