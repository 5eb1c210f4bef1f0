import Coding
import Crypto
import Foundation
import TemporaryFolders
import Testing

/// Both directions against implementations that share no code with ours: Python's `cryptography`, which brings its own
/// copy of the primitives' glue, and the `openssl` command. The machine that tests needs `python3-cryptography`.
@Suite struct PythonInteroperabilityTests {
    static func python(_ request: JSONObject) throws -> JSONObject {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "independent.py").path
        let answer = try Command.run("python3", [script], input: JSONWriter.encode(request))
        return try #require(try JSONReader.parse(answer).objectValue)
    }

    @Test func tokensSignedByPython_areAcceptedAndOtherPaddingsRefused() throws {
        let answer = try Self.python(["do": "sign_rs256", "claims": ["iss": "https://appleid.apple.com", "sub": "é"]])
        let set = try JWKSet(answer.object("keys"))
        #expect(set.rs256Keys.count == 4)
        let tokens = answer["tokens"]?.arrayValue?.compactMap(\.stringValue) ?? []
        #expect(tokens.count == 12)
        for (index, token) in tokens.enumerated() {
            let jws = try CompactJWS.parse(token)
            let keyID = try #require(jws.keyID)
            let key = try #require(set.key(for: keyID))
            if index.isMultiple(of: 3) {
                #expect(throws: Never.self) { try RS256.verify(jws, with: key) }
                #expect(try JSONObject.claims(jws.payload)["sub"] == "é")
            } else {
                // PSS padding and SHA-512, both said to be RS256.
                #expect(throws: JOSEError.badSignature) { try RS256.verify(jws, with: key) }
            }
            for other in set.rs256Keys where other.keyID != jws.keyID {
                #expect(throws: JOSEError.badSignature) { try RS256.verify(jws, with: other.key) }
            }
        }
    }

    @Test func tokensSignedByPythonWithES256_areAccepted() throws {
        let answer = try Self.python(["do": "sign_es256", "count": 300])
        let keyFile = JSONWriter.encode(answer.object("key"))
        let tokens = answer["tokens"]?.arrayValue?.compactMap(\.stringValue) ?? []
        #expect(tokens.count == 300)
        for token in tokens {
            #expect(JWSCheck.run(keyFile: keyFile, algorithm: "ES256", input: Array(token.utf8)) == .valid)
        }
        // And its key file is ours to sign with.
        let key = try P256PrivateKey(pem: answer.text("pem"))
        let (x, _) = try #require(key.publicKey.coordinates)
        #expect(Base64URL.encode(x) == answer.object("key").text("x"))
    }

    @Test func ourTokens_areAcceptedByPython() throws {
        let key = try P256PrivateKey.generate()
        let (x, y) = try #require(key.publicKey.coordinates)
        var tokens = try (0..<300).map { index in
            try SignedJWT.sign(header: [("kid", "K")], claims: ["n": .integer(Int64(index))], key: .es256(key))
        }
        // The checker must be able to refuse.
        tokens.append(try SignedJWT.sign(header: [], claims: [:], key: .es256(.generate())))
        let answer = try Self.python([
            "do": "verify_es256", "key": ["x": .string(Base64URL.encode(x)), "y": .string(Base64URL.encode(y))],
            "tokens": .array(tokens.map(JSONValue.string)),
        ])
        let results = answer["results"]?.arrayValue?.compactMap(\.boolValue) ?? []
        #expect(results == [Bool](repeating: true, count: 300) + [false])
    }

    @Test func ourCodes_matchPythons() throws {
        let random = SystemRandom()
        let pairs = [0, 1, 31, 32, 63, 64, 65, 200].map { (random.bytes($0), random.bytes($0 * 3)) }
        let answer = try Self.python([
            "do": "authenticate",
            "pairs": .array(
                pairs.map { .array([.string(Hexadecimal.encode($0.0)), .string(Hexadecimal.encode($0.1))]) }),
        ])
        let codes = answer["codes"]?.arrayValue?.compactMap(\.stringValue) ?? []
        #expect(
            codes == pairs.map { Hexadecimal.encode(HMACSHA256.authenticate(key: SecretBytes($0.0), message: $0.1)) })
    }
}

@Suite struct OpenSSLCommandTests {
    /// DER of two non-negative integers (X.690 §8.3), written here so that the test shares nothing with `ECSignature`.
    static func der(_ raw: [UInt8]) -> [UInt8] {
        func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
            var digits = Array(bytes.drop { $0 == 0 })
            if digits.isEmpty || digits[0] >= 0x80 { digits.insert(0, at: 0) }
            return [0x02, UInt8(digits.count)] + digits
        }
        let body = integer(raw[..<32]) + integer(raw[32...])
        return [0x30, UInt8(body.count)] + body
    }

    /// The reverse: R and S of 32 bytes each.
    static func raw(_ der: [UInt8]) -> [UInt8] {
        func padded(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
            let digits = bytes.drop { $0 == 0 }
            return [UInt8](repeating: 0, count: 32 - digits.count) + digits
        }
        let rEnd = 4 + Int(der[3])
        return padded(der[4..<rEnd]) + padded(der[(rEnd + 2)...])
    }

    @Test func ourSignature_isAcceptedByTheCommandAndTheReverse() throws {
        let directory = try TemporaryFolder()
        let pem = try Command.run(
            "openssl", ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"])
        let keyFile = try directory.write(pem, to: "key.pem")
        let publicFile = try directory.write(
            try Command.run("openssl", ["pkey", "-pubout"], input: pem), to: "public.pem")
        let key = try P256PrivateKey(pem: String(decoding: pem, as: UTF8.self))
        for round in 0..<8 {
            let token = try SignedJWT.sign(
                header: [("kid", "K")], claims: ["n": .integer(Int64(round))], key: .es256(key))
            let jws = try CompactJWS.parse(token)
            let message = try directory.write(jws.signingInput, to: "message")
            let signature = try directory.write(Self.der(jws.signature), to: "signature")
            let verdict = try Command.run(
                "openssl", ["dgst", "-sha256", "-verify", publicFile, "-signature", signature, message])
            #expect(String(decoding: verdict, as: UTF8.self) == "Verified OK\n")

            let theirs = try Command.run("openssl", ["dgst", "-sha256", "-sign", keyFile, message])
            #expect(key.publicKey.verifyES256(signature: Self.raw(theirs), message: jws.signingInput))
            // DER itself is not what JOSE carries.
            #expect(!key.publicKey.verifyES256(signature: theirs, message: jws.signingInput))
        }
    }

    @Test func rsaSignatureOfTheCommand_isAccepted() throws {
        let directory = try TemporaryFolder()
        let pem = try Command.run("openssl", ["genrsa", "2048"])
        let keyFile = try directory.write(pem, to: "key.pem")
        let input = Array((Base64URL.encode(Array(#"{"alg":"RS256"}"#.utf8)) + ".e30").utf8)
        let message = try directory.write(input, to: "message")
        let signature = try Command.run("openssl", ["dgst", "-sha256", "-sign", keyFile, message])
        let printed = try Command.run("openssl", ["rsa", "-modulus", "-noout"], input: pem)
        let modulus = String(decoding: printed, as: UTF8.self).dropFirst("Modulus=".count).filter(\.isHexDigit)
        let key = try RSAPublicKey(modulus: hex(String(modulus)), exponent: [1, 0, 1])
        let jws = try CompactJWS.parse(
            String(decoding: input, as: UTF8.self) + "." + Base64URL.encode(signature))
        #expect(throws: Never.self) { try RS256.verify(jws, with: key) }
        let pss = try Command.run(
            "openssl",
            ["dgst", "-sha256", "-sigopt", "rsa_padding_mode:pss", "-sign", keyFile, message])
        #expect(!key.verifyRS256(signature: pss, message: input))
    }

    @Test func digestOfTheCommand_isOurs() throws {
        let bytes = SystemRandom().bytes(100_003)
        let directory = try TemporaryFolder()
        let file = try directory.write(bytes, to: "bytes")
        let printed = try Command.run("openssl", ["dgst", "-sha256", "-r", file])
        #expect(String(decoding: printed.prefix(64), as: UTF8.self) == SHA256.hash(bytes).hexadecimal)
    }
}
