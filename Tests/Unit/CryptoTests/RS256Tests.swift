import Coding
import Crypto
import Testing

/// The algorithm is ours to choose, never the token's.
@Suite struct RS256Tests {
    static func example() throws -> (jws: String, key: RSAPublicKey) {
        let file = try TestVectors.object("rfc7515_a2.json")
        return (file.text("compact"), try JWK(file.object("key")).rs256Key())
    }

    @Test func genuineToken_isAcceptedAndOneWithoutAlgorithmRefused() throws {
        let (text, key) = try Self.example()
        #expect(throws: Never.self) { try RS256.verify(CompactJWS.parse(text), with: key) }
        let jws = try CompactJWS.parse("e30." + text.split(separator: ".").dropFirst().joined(separator: "."))
        #expect(throws: JOSEError.algorithm(nil)) { try RS256.verify(jws, with: key) }
    }

    @Test(arguments: [
        "none", "nOnE", "NONE", "", "HS256", "HS512", "ES256", "PS256", "RS384", "RS512", "RS256 ", "rs256", "RS256\0",
        "RSA1_5", "EdDSA",
    ])
    func anyOtherAlgorithm_isRefusedBeforeTheSignatureIsLookedAt(_ algorithm: String) throws {
        let (text, key) = try Self.example()
        let parts = text.split(separator: ".")
        let header = Base64URL.encode(JSONWriter.encode(["alg": .string(algorithm)] as JSONObject))
        let jws = try CompactJWS.parse("\(header).\(parts[1]).\(parts[2])")
        #expect(throws: JOSEError.algorithm(algorithm)) { try RS256.verify(jws, with: key) }
        #expect(throws: JOSEError.algorithm(algorithm)) { try RS256.requireAlgorithm(of: jws) }
    }

    /// HMAC keyed with what everybody knows: the public key as PEM, DER or modulus.
    @Test func hmacUnderThePublicKey_isRefused() throws {
        let file = try TestVectors.object("rfc7515_a2.json")
        let key = try JWK(file.object("key")).rs256Key()
        let modulus = try #require(Base64URL.decode(file.object("key").text("n")))
        let input = Base64URL.encode(Array(#"{"alg":"HS256"}"#.utf8)) + ".e30"
        let code = HMACSHA256.authenticate(key: SecretBytes(modulus), message: Array(input.utf8))
        let jws = try CompactJWS.parse("\(input).\(Base64URL.encode(code))")
        #expect(throws: JOSEError.algorithm("HS256")) { try RS256.verify(jws, with: key) }
    }

    @Test func anyChangedCharacter_isRefused() throws {
        let (text, key) = try Self.example()
        let bytes = Array(text.utf8)
        for index in bytes.indices {
            var changed = bytes
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(throws: JOSEError.self) {
                try RS256.verify(CompactJWS.parse(String(decoding: changed, as: UTF8.self)), with: key)
            }
        }
    }
}
