import Certificates
import Sockets
import Testing

/// Certificates and keys as operators hand them over, good and bad.
@Suite struct TLSConfigurationTests {
    private static func acceptor(_ certificate: [UInt8], _ key: [UInt8]) throws -> TLSAcceptor {
        try TLSAcceptor(certificate: certificate, privateKey: key)
    }

    @Test(arguments: ["good", "rsa", "p384", "chained", "expired"]) func pairIsAccepted(name: String) throws {
        _ = try Self.acceptor(TestCertificates.pem(name), TestCertificates.privateKey(name))
    }

    /// Certificate and key in one file, for both; text around the blocks; line ends of other systems.
    @Test func fileWithBothIsAccepted() throws {
        let both =
            try Array("issued by hand\n".utf8) + TestCertificates.pem("chained") + Array("\n\n".utf8)
            + TestCertificates.privateKey("chained")
        _ = try Self.acceptor(both, both)
        let returns = String(decoding: both, as: UTF8.self).split(separator: "\n").joined(separator: "\r\n") + "\r\n"
        _ = try Self.acceptor(Array(returns.utf8), Array(returns.utf8))
    }

    /// How `openssl ecparam -genkey` writes it.
    @Test func keyAfterItsParametersIsAccepted() throws {
        let parameters = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
        _ = try Self.acceptor(
            TestCertificates.pem("good"), Array(parameters.utf8) + TestCertificates.privateKey("good"))
    }

    private func failure(_ certificate: [UInt8], _ key: [UInt8]) -> TLSConfigurationError? {
        do throws(TLSConfigurationError) {
            _ = try TLSAcceptor(certificate: certificate, privateKey: key)
            return nil
        } catch {
            return error
        }
    }

    @Test func wrongKeyIsAMismatch() throws {
        let good = try TestCertificates.pem("good")
        for other in ["second", "rsa", "p384", "intermediate"] {
            #expect(failure(good, try TestCertificates.privateKey(other)) == .mismatch)
        }
        // The chain before the server's own.
        #expect(
            failure(
                try TestCertificates.pem("intermediate") + TestCertificates.pem("chained"),
                try TestCertificates.privateKey("chained")) == .mismatch)
    }

    @Test(arguments: ["encrypted", "traditional"]) func encryptedKeyIsRefused_WithoutAQuestion(name: String) throws {
        let certificate = try TestCertificates.pem(name == "encrypted" ? "good" : "rsa")
        #expect(failure(certificate, try TestCertificates.privateKey(name)) == .encryptedPrivateKey)
    }

    @Test(arguments: [("weak", "RSA of 1024 bits"), ("edwards", "ED25519"), ("koblitz", "on the curve secp256k1")])
    func unsupportedKeyIsNamed(name: String, kind: String) throws {
        let error = failure(try TestCertificates.pem(name), try TestCertificates.privateKey(name))
        #expect(error == .unsupportedKey(kind))
    }

    @Test func malformedPEMIsRefused_InOneLine() throws {
        let certificate = try TestCertificates.pem("good")
        let key = try TestCertificates.privateKey("good")
        let cut = Array(certificate.dropLast(40))
        let bent = certificate.map { $0 == UInt8(ascii: "M") ? UInt8(ascii: "!") : $0 }
        for bad in [[], Array("nonsense".utf8), key, cut, bent, certificate + cut] {
            guard case .certificate = failure(bad, key) else {
                Issue.record("\(String(decoding: bad, as: UTF8.self))")
                continue
            }
        }
        for bad in [[], Array("nonsense".utf8), certificate, Array(key.dropLast(30))] {
            guard case .privateKey = failure(certificate, bad) else {
                Issue.record("\(String(decoding: bad, as: UTF8.self))")
                continue
            }
        }
        let lines: [TLSConfigurationError?] = [
            failure([], key), failure(certificate, []), .encryptedPrivateKey, .mismatch, .unsupportedKey("x"),
            .library("x"),
        ]
        for line in lines {
            let text = try #require(line).description
            #expect(!text.isEmpty && !text.contains("\n"), "\(text)")
        }
    }
}
