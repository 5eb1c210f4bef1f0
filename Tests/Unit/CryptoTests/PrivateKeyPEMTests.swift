import Crypto
import Foundation
import Testing

/// Keys in every wrapping `openssl` writes; each is made by the command itself.
@Suite struct PrivateKeyPEMTests {
    static func openssl(_ arguments: String, input: [UInt8] = []) throws -> String {
        String(
            decoding: try Command.run("openssl", arguments.split(separator: " ").map(String.init), input: input),
            as: UTF8.self)
    }

    @Test func pkcs8AndSEC1_areRead() throws {
        let pkcs8 = try Self.openssl("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256")
        #expect(pkcs8.hasPrefix("-----BEGIN PRIVATE KEY-----"))
        let sec1 = try Self.openssl("ec", input: Array(pkcs8.utf8))
        #expect(sec1.contains("-----BEGIN EC PRIVATE KEY-----"))
        let withParameters = try Self.openssl("ecparam -name prime256v1 -genkey")
        #expect(withParameters.contains("BEGIN EC PARAMETERS"))
        let first = try P256PrivateKey(pem: pkcs8)
        let second = try P256PrivateKey(pem: sec1)
        #expect(second.publicKey.verifyES256(signature: try first.signES256([1]), message: [1]))
        #expect(throws: Never.self) { try P256PrivateKey(pem: withParameters) }
        // The curve spelled out by its parameters is still the curve when they are P-256's own.
        let explicit = try Self.openssl(
            "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -pkeyopt ec_param_enc:explicit")
        #expect(throws: Never.self) { try P256PrivateKey(pem: explicit) }
        // As editors and shells leave files.
        for text in [
            pkcs8.replacingOccurrences(of: "\n", with: "\r\n"), "Apple's key\n\n" + pkcs8 + "\n\n",
            pkcs8.split(separator: "\n").map { "  \($0) " }.joined(separator: "\n"),
        ] {
            #expect(throws: Never.self) { try P256PrivateKey(pem: text) }
        }
    }

    @Test(arguments: [
        ("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384", KeyError.wrongKind),
        ("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:secp256k1", .wrongKind),
        ("genpkey -algorithm ED25519", .wrongKind), ("genrsa 2048", .wrongKind),
        ("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -aes256 -pass pass:x", .encrypted),
    ])
    func otherKeys_areRefused(_ arguments: String, _ error: KeyError) throws {
        let pem = try Self.openssl(arguments)
        #expect(throws: error) { try P256PrivateKey(pem: pem) }
    }

    @Test func oldStyleEncryption_isNamed() throws {
        let pem = try Self.openssl("ecparam -name prime256v1 -genkey -noout")
        let encrypted = try Self.openssl("ec -aes128 -passout pass:x", input: Array(pem.utf8))
        #expect(encrypted.contains("Proc-Type"))
        #expect(throws: KeyError.encrypted) { try P256PrivateKey(pem: encrypted) }
    }

    @Test func publicKey_isRefused() throws {
        let pem = try Self.openssl("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256")
        let publicKey = try Self.openssl("pkey -pubout", input: Array(pem.utf8))
        #expect(throws: KeyError.wrongKind) { try P256PrivateKey(pem: publicKey) }
    }

    @Test func brokenTexts_areRefused() throws {
        let pem = try Self.openssl("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256")
        let lines = pem.split(separator: "\n").map(String.init)
        let body = lines[1..<(lines.count - 1)].joined()
        func wrapped(_ body: String) -> String { "-----BEGIN PRIVATE KEY-----\n\(body)\n-----END PRIVATE KEY-----\n" }
        let bytes = [UInt8](try #require(Data(base64Encoded: body)))
        #expect(throws: Never.self) { try P256PrivateKey(pem: wrapped(body)) }
        for text in [
            "", "x", body, lines.dropLast().joined(separator: "\n"), wrapped(""), wrapped("!"), wrapped("AAAA"),
            pem + pem, wrapped(Data(bytes + [0]).base64EncodedString()),
            wrapped(Data(bytes.dropLast()).base64EncodedString()), "-----BEGIN ",
        ] {
            #expect(throws: KeyError.malformed) { try P256PrivateKey(pem: text) }
        }
        // The private half of another key than the public half: RFC 5915 puts it after the version.
        var mixed = bytes
        let other = [UInt8](SystemRandom().bytes(16))
        mixed.replaceSubrange(40..<56, with: other)
        #expect(throws: KeyError.invalidPoint) { try P256PrivateKey(pem: wrapped(Data(mixed).base64EncodedString())) }
        // No change of a single byte may crash, and none may give a key that signs for another.
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 0x55
            _ = try? P256PrivateKey(pem: wrapped(Data(changed).base64EncodedString()))
        }
    }
}
