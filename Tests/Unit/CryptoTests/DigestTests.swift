import Coding
import Crypto
import Testing

@Suite struct SHA256Tests {
    /// FIPS 180-4 examples, and one of exactly one block.
    static let examples: [(String, String)] = [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (
            String(repeating: "a", count: 1_000_000),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        ),
    ]

    @Test(arguments: examples)
    func oneShotAndHasher_matchTheStandard(_ text: String, _ digest: String) {
        #expect(SHA256.hash(utf8: text).hexadecimal == digest)
        #expect(SHA256.hash(Array(text.utf8)).bytes == hex(digest))
        let hasher = SHA256Hasher()
        let bytes = Array(text.utf8)
        for _ in 0..<3 { #expect(hasher.hash(bytes.span).hexadecimal == digest) }
    }

    @Test func hasher_hashesPartOfABufferThroughItsSpan() {
        let bytes = Array("xxabcyy".utf8)
        let hasher = SHA256Hasher()
        #expect(hasher.hash(bytes.span.extracting(2..<5)) == SHA256.hash(utf8: "abc"))
    }

    @Test func digest_isItsBytesBothWays() throws {
        let bytes = (0..<32).map { UInt8($0 * 8 + 1) }
        let digest = try #require(Digest256(bytes: bytes))
        #expect(digest.bytes == bytes)
        #expect(digest.words.0 == 0x0109_1119_2129_3139)
        #expect(digest.hexadecimal == Hexadecimal.encode(bytes))
        #expect(Digest256(bytes: Array(bytes.dropLast())) == nil)
        #expect(Digest256(bytes: bytes + [0]) == nil)
    }
}

@Suite struct HMACTests {
    /// RFC 4231 §4.2, 4.3, 4.4, 4.7 (a key longer than a block).
    @Test(arguments: [
        (
            String(repeating: "0b", count: 20), "4869205468657265",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            "4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            String(repeating: "aa", count: 20), String(repeating: "dd", count: 50),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
        ),
        (
            String(repeating: "aa", count: 131),
            Hexadecimal.encode(Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8)),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        // HMAC of nothing under no key.
        ("", "", "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"),
    ])
    func code_matchesRFC4231(_ key: String, _ message: String, _ code: String) {
        #expect(HMACSHA256.authenticate(key: SecretBytes(hex(key)), message: hex(message)) == hex(code))
    }
}

@Suite struct HKDFTests {
    /// RFC 5869 Appendix A.1 to A.3.
    @Test(arguments: [
        (
            String(repeating: "0b", count: 22), "000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9",
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
        ),
        (
            Hexadecimal.encode(Array(0x00...0x4f)), Hexadecimal.encode(Array(0x60...0xaf)),
            Hexadecimal.encode(Array(0xb0...0xff)),
            """
            b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09
            da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87
            """
        ),
        (
            String(repeating: "0b", count: 22), "", "",
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
        ),
    ])
    func key_matchesRFC5869(_ material: String, _ salt: String, _ info: String, _ expected: String) {
        let expected = hex(expected)
        let key = HKDF.deriveKey(
            from: SecretBytes(hex(material)), salt: hex(salt), info: hex(info), count: expected.count)
        #expect(key.reveal() == expected)
    }

    @Test func theLongestKey_canBeDerived() {
        let key = HKDF.deriveKey(from: SecretBytes([1]), salt: [], info: [], count: HKDF.maximumCount)
        #expect(key.count == 8160)
    }
}
