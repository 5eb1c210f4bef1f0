import Coding
import Crypto
import Testing

@Suite struct PublishedExampleTests {
    @Test(arguments: [("rfc7515_a2.json", "RS256"), ("rfc7515_a3.json", "ES256")])
    func rfc7515_verifies(_ name: String, _ algorithm: String) throws {
        let file = try TestVectors.object(name)
        let outcome = JWSCheck.run(
            keyFile: JSONWriter.encode(file.object("key")), algorithm: algorithm,
            input: Array(file.text("compact").utf8))
        #expect(outcome.line == "OK")
        let payload = try CompactJWS.parse(file.text("compact")).payload
        let claims = try JSONObject.claims(payload)
        #expect(claims["iss"] == "joe")
        #expect(claims.numericDate("exp") == Timestamp(seconds: 1_300_819_380))
    }

    @Test(arguments: [("rfc7520_4_1.rsa_v15_signature.json", "RS256"), ("rfc7520_4_3.ecdsa_signature.json", "ES512")])
    func rfc7520_verifies(_ name: String, _ algorithm: String) throws {
        let file = try TestVectors.object(name)
        let token = file.object("output").text("compact")
        let keyFile = JSONWriter.encode(file.object("input").object("key"))
        #expect(JWSCheck.run(keyFile: keyFile, algorithm: algorithm, input: Array(token.utf8)) == .valid)
        let jws = try CompactJWS.parse(token)
        #expect(jws.payload == Array(file.object("input").text("payload").utf8))
        #expect(String(decoding: jws.signingInput, as: UTF8.self) == file.object("signing").text("sig-input"))
        for other in JWSCheck.algorithms where other != algorithm {
            #expect(
                JWSCheck.run(keyFile: keyFile, algorithm: other, input: Array(token.utf8))
                    == .invalid(.algorithm(algorithm)))
        }
    }

    @Test(arguments: [
        "rfc7515_a2.json", "rfc7515_a3.json", "rfc7520_4_1.rsa_v15_signature.json", "rfc7520_4_3.ecdsa_signature.json",
    ])
    func anyChangedSignatureByte_isRefused(_ name: String) throws {
        let file = try TestVectors.object(name)
        let token = file["compact"]?.stringValue ?? file.object("output").text("compact")
        let key = file["key"]?.objectValue ?? file.object("input").object("key")
        let jws = try CompactJWS.parse(token)
        let algorithm = try #require(jws.algorithm)
        let keyFile = JSONWriter.encode(key)
        for index in stride(from: 0, to: jws.signature.count, by: 7) {
            var signature = jws.signature
            signature[index] ^= 1
            let changed = jws.signingInput + [UInt8(ascii: ".")] + Base64URL.encodedBytes(signature)
            #expect(
                JWSCheck.run(keyFile: keyFile, algorithm: algorithm, input: changed) == .invalid(.badSignature))
        }
    }
}

@Suite struct JWSCheckTests {
    struct Signed {
        let key: P256PrivateKey
        let jwk: JSONObject
        func token(_ header: [(String, JSONValue)]) throws -> [UInt8] {
            Array(try SignedJWT.sign(header: header, claims: ["a": 1], key: .es256(key)).utf8)
        }
    }

    static func signed(kid: String? = nil) throws -> Signed {
        let key = try P256PrivateKey.generate()
        let (x, y) = try #require(key.publicKey.coordinates)
        var jwk: JSONObject = [
            "kty": "EC", "crv": "P-256", "x": .string(Base64URL.encode(x)), "y": .string(Base64URL.encode(y)),
        ]
        if let kid { jwk["kid"] = .string(kid) }
        return Signed(key: key, jwk: jwk)
    }

    static func run(_ key: JSONObject, _ token: [UInt8]) -> JWSCheck.Outcome {
        JWSCheck.run(keyFile: JSONWriter.encode(key), algorithm: "ES256", input: token)
    }

    @Test func lineEndsAroundTheToken_areIgnoredAndNothingElse() throws {
        let signed = try Self.signed()
        let token = try signed.token([])
        #expect(Self.run(signed.jwk, Array("\n".utf8) + token + Array("\r\n\n".utf8)) == .valid)
        #expect(!Self.run(signed.jwk, token + [0x20]).isValid)
        for empty in [[], [0x0A], [0x0D, 0x0A], [0xFF]] as [[UInt8]] {
            #expect(Self.run(signed.jwk, empty) == .invalid(.notCompact))
        }
    }

    @Test func kid_choosesInASet() throws {
        let first = try Self.signed(kid: "1")
        let second = try Self.signed(kid: "2")
        let set: JSONObject = ["keys": [.object(first.jwk), .object(second.jwk)]]
        #expect(Self.run(set, try second.token([("kid", "2")])) == .valid)
        #expect(Self.run(set, try second.token([("kid", "1")])) == .invalid(.badSignature))
        #expect(Self.run(set, try second.token([("kid", "3")])) == .invalid(.unknownKey("3")))
        #expect(Self.run(set, try second.token([])) == .invalid(.unknownKey(nil)))
        #expect(Self.run(["keys": [.object(second.jwk)]], try second.token([])) == .valid)
        #expect(Self.run(["keys": []], try second.token([])) == .invalid(.unknownKey(nil)))
    }

    @Test func kidOfASingleKey_mustNotDisagree() throws {
        let named = try Self.signed(kid: "1")
        #expect(Self.run(named.jwk, try named.token([("kid", "1")])) == .valid)
        #expect(Self.run(named.jwk, try named.token([])) == .valid)
        #expect(Self.run(named.jwk, try named.token([("kid", "2")])) == .invalid(.unknownKey("2")))
        let nameless = try Self.signed()
        #expect(Self.run(nameless.jwk, try nameless.token([("kid", "2")])) == .valid)
    }

    @Test(
        arguments: [
            ("use", "enc"), ("alg", "ES512"), ("crv", "P-384"), ("kty", "RSA"), ("key_ops", ["sign"]), ("x", "AA"),
            ("y", 7),
        ] as [(String, JSONValue)])
    func ellipticKeyOfAnotherUse_isRefused(_ name: String, _ value: JSONValue) throws {
        let signed = try Self.signed()
        var jwk = signed.jwk
        jwk[name] = value
        let outcome = Self.run(jwk, try signed.token([]))
        #expect(outcome.line.hasPrefix("FAIL: the key is not usable"))
    }

    @Test func unknownAlgorithm_isRefused() throws {
        let signed = try Self.signed()
        let outcome = JWSCheck.run(
            keyFile: JSONWriter.encode(signed.jwk), algorithm: "none", input: try signed.token([]))
        #expect(outcome == .invalid(.algorithm("ES256")))
        let unsigned = Array(HandMade.token(header: #"{"alg":"none"}"#).utf8)
        #expect(
            JWSCheck.run(keyFile: JSONWriter.encode(signed.jwk), algorithm: "none", input: unsigned)
                == .invalid(.algorithm("none")))
    }

    @Test func failures_sayWhyInOneLineWithoutControlCharacters() throws {
        let token = Array(HandMade.token(header: "{\"alg\":\"a\\n\\u001b[31m\"}").utf8)
        let line = JWSCheck.run(keyFile: Array("{}".utf8), algorithm: "RS256", input: token).line
        #expect(line.hasPrefix("FAIL: the algorithm "))
        #expect(line.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F })
        #expect(JWSCheck.run(keyFile: [], algorithm: "RS256", input: token).line.hasPrefix("FAIL: "))
    }
}

@Suite struct SignedJWTTests {
    @Test func token_hasTheHeaderAndClaimsInOrder() throws {
        let key = try P256PrivateKey.generate()
        let text = try SignedJWT.sign(
            header: [("kid", "ABC123DEFG"), ("alg", "none")], claims: ["iss": "T", "iat": 1, "aud": "https://x"],
            key: .es256(key))
        let jws = try CompactJWS.parse(text)
        let parts = text.split(separator: ".").map { Base64URL.decode(String($0)) ?? [] }
        #expect(String(decoding: parts[0], as: UTF8.self) == #"{"alg":"ES256","kid":"ABC123DEFG"}"#)
        #expect(String(decoding: parts[1], as: UTF8.self) == #"{"iss":"T","iat":1,"aud":"https://x"}"#)
        #expect(parts[2].count == 64)
        #expect(key.publicKey.verifyES256(signature: jws.signature, message: jws.signingInput))
    }
}
