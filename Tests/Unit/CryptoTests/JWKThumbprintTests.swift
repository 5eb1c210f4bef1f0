import Coding
import Crypto
import Foundation
import Testing

@Suite struct JWKThumbprintTests {
    /// RFC 7638 §3.1.
    @Test func thumbprint_ofTheRFCsKey() {
        let key = JWK([
            "kty": "RSA",
            "n": .string(
                "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZ"
                    + "CiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqz"
                    + "s8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINH"
                    + "aQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw"),
            "e": "AQAB", "alg": "RS256", "kid": "2011-04-29",
        ])
        #expect(key.thumbprint == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs")
    }

    /// RFC 8037 Appendix A.3.
    @Test func thumbprint_ofAnOctetKeyPair() {
        let key = JWK(["kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"])
        #expect(key.thumbprint == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")
    }

    @Test(
        "A malformed key has no thumbprint",
        arguments: [
            [:], ["kty": "EC", "crv": "P-256", "x": "AA"], ["kty": "EC", "crv": "P-256", "x": "AA", "y": 1],
            ["kty": "XX", "x": "AA"], ["kty": 1], ["kty": "RSA", "e": "AQAB"],
        ] as [JSONObject])
    func incomplete(_ object: JSONObject) {
        #expect(JWK(object).thumbprint == nil)
    }

    /// `openssl` prints the same point, and every coordinate has its leading zeros. One key in 128 has one; that none of
    /// 4,000 has happens once in 10^13 runs.
    @Test func ownKeys_keepLeadingZeros() throws {
        var shortest = 64
        var tried = 0
        while shortest == 64, tried < 4000 {
            tried += 1
            let key = try P256PrivateKey.generate().publicKey
            let (x, y) = try #require(key.coordinates)
            #expect(x.count == 32 && y.count == 32)
            shortest = min(shortest, x.drop { $0 == 0 }.count + y.drop { $0 == 0 }.count)
            let jwk = JWK(x: x, y: y)
            #expect(jwk.object.text("x").count == 43 && jwk.object.text("y").count == 43)
            #expect(try jwk.es256Key().coordinates?.x == x)
        }
        #expect(shortest < 64, "no key with a leading zero was tried")
    }
}

@Suite struct P256StoredKeyTests {
    @Test func storedKey_isReadByTheCommandAndSignsAsBefore() throws {
        let key = try P256PrivateKey.generate()
        let der = try key.derRepresentation()
        #expect("\(der)" == "<redacted>")
        let again = try P256PrivateKey(der: der)
        let signature = try again.signES256([1, 2, 3])
        #expect(key.publicKey.verifyES256(signature: signature, message: [1, 2, 3]))
        let text = String(
            decoding: try Command.run(
                "openssl", ["ec", "-inform", "DER", "-noout", "-text", "-conv_form", "uncompressed"],
                input: der.reveal()), as: UTF8.self)
        let (x, y) = try #require(key.publicKey.coordinates)
        let digits = text.components(between: "pub:", and: "ASN1 OID").filter(\.isHexDigit).lowercased()
        #expect(digits == "04" + Hexadecimal.encode(x) + Hexadecimal.encode(y))
    }

    @Test func storedKey_withMoreOrLess_isRefused() throws {
        let der = try P256PrivateKey.generate().derRepresentation().reveal()
        #expect(throws: KeyError.malformed) { try P256PrivateKey(der: SecretBytes(der + [0])) }
        #expect(throws: KeyError.malformed) { try P256PrivateKey(der: SecretBytes(Array(der.dropLast()))) }
        #expect(throws: KeyError.malformed) { try P256PrivateKey(der: SecretBytes([])) }
    }

    @Test func keySealedByAnOlderKey_isOutdated() {
        let (old, new) = (SealingKey.generate(), SealingKey.generate())
        let sealed = SealingKeyring(current: old).seal([1], purpose: .signingKey)
        #expect(!SealingKeyring(current: old).isOutdated(sealed))
        #expect(SealingKeyring(current: new, previous: [old]).isOutdated(sealed))
        #expect(SealingKeyring(current: new).isOutdated([]))
    }
}

extension String {
    fileprivate func components(between start: String, and end: String) -> Substring {
        guard let begin = range(of: start), let stop = range(of: end) else { return "" }
        return self[begin.upperBound..<stop.lowerBound]
    }
}
