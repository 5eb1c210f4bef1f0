import Coding
import Crypto
import Testing

/// RSA keys of our own: what they sign, this library and `openssl` believe.
@Suite struct RSASigningTests {
    private static let key = Result { try RSAPrivateKey.generate() }

    @Test func signsWhatItsPublicHalfVerifies_AndComesBackFromItsDER() throws {
        let key = try Self.key.get()
        let numbers = try #require(key.publicNumbers)
        #expect(numbers.modulus.count == RSAPrivateKey.freshBits / 8 && numbers.modulus[0] >= 0x80)
        #expect(numbers.exponent == [1, 0, 1])
        let verifier = try RSAPublicKey(modulus: numbers.modulus, exponent: numbers.exponent)
        let message = Array("signed".utf8)
        var signature = try key.signRS256(message)
        #expect(verifier.verifyRS256(signature: signature, message: message))
        #expect(!verifier.verifyRS256(signature: signature, message: message + [0]))
        signature[40] ^= 1
        #expect(!verifier.verifyRS256(signature: signature, message: message))
        let again = try RSAPrivateKey(der: try key.derRepresentation())
        // Without randomness in it, the same key signs the same.
        #expect(try again.signRS256([1, 2, 3]) == key.signRS256([1, 2, 3]))
    }

    @Test func refusesOtherKeys() throws {
        let elliptic = try P256PrivateKey.generate().derRepresentation()
        #expect(throws: KeyError.wrongKind) { try RSAPrivateKey(der: elliptic) }
        let der = try Self.key.get().derRepresentation()
        #expect(throws: KeyError.self) { try P256PrivateKey(der: der) }
        let bytes = der.reveal()
        #expect(throws: KeyError.self) { try RSAPrivateKey(der: SecretBytes(bytes + [0])) }
        #expect(throws: KeyError.self) { try RSAPrivateKey(der: SecretBytes(Array(bytes.dropLast()))) }
        #expect(throws: KeyError.self) { try RSAPrivateKey(der: SecretBytes([])) }
        // Behind the public exponent is the private one (RFC 8017 §A.1.2): both halves have to belong together.
        let exponent = try #require(bytes.ranges(of: [0x02, 0x03, 0x01, 0x00, 0x01]).first)
        var mixed = bytes
        mixed[exponent.upperBound + 100] ^= 1
        #expect(throws: KeyError.malformed) { try RSAPrivateKey(der: SecretBytes(mixed)) }
    }

    @Test func jwtNamesItsAlgorithm() throws {
        let key = JWTSigningKey.rs256(try Self.key.get())
        // `alg` is the key's, whatever else is asked for.
        let token = try SignedJWT.sign(
            header: [("alg", "none"), ("kid", "K")], claims: ["sub": "somebody"], key: key)
        let jws = try CompactJWS.parse(token)
        #expect(jws.algorithm == "RS256" && jws.keyID == "K")
        let jwk = try #require(key.publicJWK)
        #expect(jwk.object["d"] == nil && jwk.thumbprint?.utf8.count == 43)
        try RS256.verify(jws, with: try jwk.rs256Key())
        let stranger = JWTSigningKey.rs256(try RSAPrivateKey.generate())
        let other = try #require(stranger.publicJWK)
        #expect(throws: JOSEError.badSignature) { try RS256.verify(jws, with: try other.rs256Key()) }
    }
}
