import Certificates
import Loops
import Sockets
import Testing

/// Both ends are ours here; the certificates are made by OpenSSL's command line.
@Suite struct TLSTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var certificate: String
        var serverName: String
        var trust: String
        var succeeds: Bool
        var testDescription: String { name }
    }

    static let cases = [
        Case(name: "good", certificate: "good", serverName: "apple.test", trust: "ca", succeeds: true),
        Case(name: "wrong name", certificate: "good", serverName: "evil.test", trust: "ca", succeeds: false),
        Case(name: "wrong CA", certificate: "good", serverName: "apple.test", trust: "other", succeeds: false),
        Case(name: "expired", certificate: "expired", serverName: "apple.test", trust: "ca", succeeds: false),
        Case(name: "self-signed", certificate: "other", serverName: "other", trust: "ca", succeeds: false),
        Case(name: "by address", certificate: "good", serverName: "127.0.0.1", trust: "ca", succeeds: true),
        Case(name: "wrong address", certificate: "good", serverName: "127.0.0.2", trust: "ca", succeeds: false),
    ]

    @Test(arguments: cases) func handshake(_ test: Case) async throws {
        let folder = try TestCertificates.folder()
        let server = try TLSContext.server(
            certificate: try TestCertificates.pem(test.certificate),
            privateKey: try TestCertificates.privateKey(test.certificate))
        let client = try TLSContext.client(trusting: "\(folder)/\(test.trust).pem")
        let answer = try await onLoop(
            serving: { stream in
                stream.setDeadline(Deadline.now.adding(milliseconds: 120_000))
                guard (try? await stream.startTLS(server, serverName: nil)) != nil else { return stream.close() }
                await echo(stream)
            },
            { loop, _ -> [UInt8]? in
                let stream = try await connect(try listen(on: loop), on: loop)
                do {
                    try await stream.startTLS(client, serverName: test.serverName)
                } catch {
                    return nil
                }
                let message = [UInt8](repeating: 9, count: 200_000)
                async let reading = readExactly(message.count, from: stream)
                try await stream.write(message)
                return await reading
            })
        #expect((answer != nil) == test.succeeds)
        if test.succeeds { #expect(answer == [UInt8](repeating: 9, count: 200_000)) }
    }

    private func readExactly(_ count: Int, from stream: SocketStream) async -> [UInt8] {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while all.count < count, let read = try? await stream.read(into: &buffer, at: 0), read > 0 {
            all.append(contentsOf: buffer[..<read])
        }
        return all
    }
}
