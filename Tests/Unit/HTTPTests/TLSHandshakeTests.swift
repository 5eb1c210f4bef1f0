import COpenSSL
import Certificates
import ChildProcesses
import HTTP
import Sockets
import Testing

/// The handshake as OpenSSL's own client sees it: versions, ciphers, protocols.
@Suite struct TLSHandshakeTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var certificate = "good"
        var options: [String]
        /// What the client must say; nil when the handshake must fail.
        var expected: String?
        var testDescription: String { name }
    }

    static let weak = ["-cipher", "ALL:@SECLEVEL=0"]

    static let cases = [
        Case(name: "TLS 1.3", options: ["-tls1_3"], expected: "New, TLSv1.3, Cipher is TLS_AES_128_GCM_SHA256"),
        Case(
            name: "TLS 1.3, ChaCha20 for whoever prefers it",
            options: [
                "-tls1_3", "-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256",
            ], expected: "Cipher is TLS_CHACHA20_POLY1305_SHA256"),
        Case(
            name: "TLS 1.3, our order otherwise",
            options: ["-tls1_3", "-ciphersuites", "TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256"],
            expected: "Cipher is TLS_AES_128_GCM_SHA256"),
        Case(
            name: "TLS 1.3 without CCM", options: ["-tls1_3", "-ciphersuites", "TLS_AES_128_CCM_SHA256"]),
        Case(
            name: "TLS 1.2, ECDSA", options: ["-tls1_2"],
            expected: "New, TLSv1.2, Cipher is ECDHE-ECDSA-AES128-GCM-SHA256"),
        Case(
            name: "TLS 1.2, RSA", certificate: "rsa", options: ["-tls1_2"],
            expected: "New, TLSv1.2, Cipher is ECDHE-RSA-AES128-GCM-SHA256"),
        Case(
            name: "TLS 1.2, ChaCha20 for whoever prefers it",
            options: ["-tls1_2", "-cipher", "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES128-GCM-SHA256"],
            expected: "Cipher is ECDHE-ECDSA-CHACHA20-POLY1305"),
        Case(name: "P-384 certificate", certificate: "p384", options: ["-tls1_3"], expected: "New, TLSv1.3"),
        Case(name: "RSA certificate", certificate: "rsa", options: ["-tls1_3"], expected: "New, TLSv1.3"),
        Case(name: "chain", certificate: "chained", options: [], expected: "Verify return code: 0 (ok)"),
        Case(name: "X25519", options: ["-tls1_2", "-groups", "P-256:X25519"], expected: "Server Temp Key: X25519"),
        Case(name: "P-384", options: ["-groups", "P-384"], expected: "Server Temp Key: ECDH, secp384r1"),
        Case(name: "P-521 is not offered", options: ["-groups", "P-521"]),
        Case(name: "another name is served", options: ["-servername", "elsewhere.test"], expected: "New, TLSv1.3"),
        Case(name: "no name is served", options: ["-noservername"], expected: "New, TLSv1.3"),
        Case(name: "TLS 1.0", options: ["-tls1"] + weak),
        Case(name: "TLS 1.1", options: ["-tls1_1"] + weak),
        Case(name: "CBC", options: ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA256:ECDHE-ECDSA-AES128-SHA"]),
        Case(
            name: "RSA key exchange", certificate: "rsa", options: ["-tls1_2", "-cipher", "AES128-GCM-SHA256"]),
        Case(
            name: "DHE", certificate: "rsa", options: ["-tls1_2", "-cipher", "DHE-RSA-AES128-GCM-SHA256"]),
        Case(
            name: "ECDHE with CCM", options: ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-CCM"]),
        Case(name: "no compression", options: ["-tls1_2", "-comp"], expected: "Compression: NONE"),
    ]

    @Test(arguments: cases) func opensslClient(_ test: Case) async throws {
        let acceptor = try acceptor(test.certificate)
        let said = try await withServer(configuration: HTTPServerConfiguration { $0.tls = acceptor }) { peer in
            try await client(test.options, to: peer, saying: "GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        }
        if let expected = test.expected {
            #expect(said.contains(expected), "\(said)")
            #expect(said.contains("GET /x "), "\(said)")
            #expect(acceptor.handshakes(.full) == 1)
        } else {
            #expect(said.contains("alert"), "\(said)")
            #expect(!said.contains("HTTP/1.1"))
            #expect(acceptor.handshakes(.failed) == 1)
        }
    }

    struct Protocols: Sendable, CustomTestStringConvertible {
        var offered: [String]
        var served: [ApplicationProtocol]
        /// Nil when none is agreed on.
        var agreed: String?
        var isRefused = false
        var testDescription: String { "\(offered) against \(served)" }
    }

    static let both: [ApplicationProtocol] = [.http2, .http1]
    static let protocols = [
        Protocols(offered: ["h2", "http/1.1"], served: both, agreed: "h2"),
        Protocols(offered: ["http/1.1", "h2"], served: both, agreed: "h2"),
        Protocols(offered: ["http/1.1"], served: both, agreed: "http/1.1"),
        Protocols(offered: ["spdy/3", "http/1.1"], served: both, agreed: "http/1.1"),
        Protocols(offered: ["h2", "http/1.1"], served: [.http1], agreed: "http/1.1"),
        Protocols(offered: [], served: both),
        Protocols(offered: ["http/1.0"], served: both, isRefused: true),
        Protocols(offered: ["h2c", "http/1.1x", "http/1."], served: both, isRefused: true),
        Protocols(offered: ["h2"], served: [.http1], isRefused: true),
    ]

    @Test(arguments: protocols, [TLS1_2_VERSION, TLS1_3_VERSION])
    func applicationProtocol(_ test: Protocols, version: Int32) async throws {
        let acceptor = try acceptor(protocols: test.served)
        try await withServer(configuration: HTTPServerConfiguration { $0.tls = acceptor }) { peer in
            let client = TLSPeer(try await peer.connect(), version: version, protocols: test.offered)
            do {
                try await client.handshake()
                #expect(!test.isRefused)
                #expect(client.applicationProtocol == test.agreed)
            } catch let error as TLSPeer.Failure {
                #expect(test.isRefused)
                // RFC 7301 §3.2: an alert of its own.
                #expect(error.text.contains("no application protocol"), "\(error.text)")
            }
        }
    }

    @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION], [1, 2, 3, 7, 100])
    func handshakeInPieces(version: Int32, pieces: Int) async throws {
        let acceptor = try acceptor()
        let answer = try await withServer(configuration: HTTPServerConfiguration { $0.tls = acceptor }) { peer in
            let client = TLSPeer(try await peer.connect(), version: version)
            try await client.handshake(pieces: pieces)
            let request = client.seal("GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            try await client.send(request, pieces: pieces)
            return try await client.readAll()
        }
        #expect(answer.hasSuffix("GET /a "))
    }

    /// Runs `openssl s_client` to its end; all it says.
    private func client(_ options: [String], to peer: Peer, saying text: String) async throws -> String {
        let folder = try TestCertificates.folder()
        let file = "\(folder)/said-\(UInt64.random(in: 0...UInt64.max))"
        let program = try SpawnedProgram(
            [
                "openssl", "s_client", "-connect", "127.0.0.1:\(peer.address.port)", "-CAfile", "\(folder)/ca.pem",
                "-ign_eof",
            ] + options, input: .pipe, output: .file(file), errors: .sameAsOutput)
        try? program.input?.write(Array(text.utf8))
        _ = await program.ended()
        return try TestCertificates.text(file)
    }
}
