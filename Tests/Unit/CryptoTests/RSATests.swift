import Coding
import Crypto
import Testing

@Suite struct RSATests {
    struct Case: Sendable, CustomTestStringConvertible {
        let id: Int64
        let comment: String
        let modulus, exponent, message, signature: [UInt8]
        let result: String
        var testDescription: String { "\(id) \(comment)" }
    }

    /// Wycheproof, PKCS #1 v1.5 with 2048 bits and SHA-256.
    static let wycheproof: [Case] = {
        guard let file = try? TestVectors.object("rsa_signature_2048_sha256_test.json") else { return [] }
        return file.objects("testGroups").flatMap { group in
            group.objects("tests").map { test in
                Case(
                    id: test["tcId"]?.int64Value ?? -1, comment: test.text("comment"),
                    modulus: group.object("publicKey").bytes("modulus"),
                    exponent: group.object("publicKey").bytes("publicExponent"), message: test.bytes("msg"),
                    signature: test.bytes("sig"), result: test.text("result"))
            }
        }
    }()

    @Test func wycheproof_isComplete() {
        #expect(Self.wycheproof.count == 259)
        #expect(Self.wycheproof.count { $0.result == "valid" } == 9)
        #expect(Self.wycheproof.count { $0.result == "acceptable" } == 1)
    }

    @Test(arguments: wycheproof)
    func signature_isAcceptedWhenWycheproofSaysValid(_ test: Case) throws {
        let key = try RSAPublicKey(modulus: test.modulus, exponent: test.exponent)
        // "Acceptable" is one case, a DigestInfo without its NULL: RFC 8017 §9.2 allows one encoding, and so do we.
        #expect(key.verifyRS256(signature: test.signature, message: test.message) == (test.result == "valid"))
    }

    /// An odd modulus of exactly this many bits; not a product of two primes, which no public key can show.
    static func modulus(bits: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0xFF, count: (bits + 7) / 8)
        bytes[0] = UInt8((1 << ((bits - 1) % 8 + 1)) - 1)
        return bytes
    }

    @Test(arguments: [
        (1024, false), (2047, false), (2048, true), (2049, true), (3072, true), (4096, true), (4097, false),
    ])
    func size_isAllowedFrom2048To4096(_ bits: Int, _ isAllowed: Bool) {
        let modulus = Self.modulus(bits: bits)
        if isAllowed {
            #expect(throws: Never.self) { try RSAPublicKey(modulus: modulus, exponent: [1, 0, 1]) }
            #expect(throws: Never.self) { try RSAPublicKey(modulus: [0, 0] + modulus, exponent: [0, 1, 0, 1]) }
        } else {
            #expect(throws: KeyError.unsupportedSize(bits: bits)) {
                try RSAPublicKey(modulus: modulus, exponent: [1, 0, 1])
            }
        }
    }

    @Test(
        arguments: [
            ([3], true), ([1, 0, 1], true), ([1, 0, 0, 0, 0, 0, 0, 1], true), ([], false), ([0], false), ([1], false),
            ([0, 1], false), ([2], false), ([4], false), ([1, 0, 0], false), ([1, 0, 0, 0, 0, 0, 0, 0, 1], false),
        ] as [([UInt8], Bool)])
    func exponent_isOddFrom3To64Bits(_ exponent: [UInt8], _ isAllowed: Bool) {
        let modulus = Self.modulus(bits: 2048)
        if isAllowed {
            #expect(throws: Never.self) { try RSAPublicKey(modulus: modulus, exponent: exponent) }
        } else {
            #expect(throws: KeyError.unsupportedExponent) { try RSAPublicKey(modulus: modulus, exponent: exponent) }
        }
    }

    @Test func malformedSignatures_areRefused() {
        var even = Self.modulus(bits: 2048)
        even[255] = 0xFE
        #expect(throws: KeyError.malformed) { try RSAPublicKey(modulus: even, exponent: [3]) }
        #expect(throws: KeyError.unsupportedSize(bits: 0)) { try RSAPublicKey(modulus: [], exponent: [3]) }
        #expect(throws: KeyError.unsupportedSize(bits: 0)) { try RSAPublicKey(modulus: [0, 0], exponent: [3]) }
    }

    @Test func manyThreads_verifyWithOneKey() async throws {
        let test = try #require(Self.wycheproof.first { $0.result == "valid" })
        let key = try RSAPublicKey(modulus: test.modulus, exponent: test.exponent)
        let wrong = test.signature.map { $0 ^ 1 }
        let right = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    (0..<200).count { _ in
                        key.verifyRS256(signature: test.signature, message: test.message)
                            && !key.verifyRS256(signature: wrong, message: test.message)
                    }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(right == 1600)
    }
}
