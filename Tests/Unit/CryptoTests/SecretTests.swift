import Crypto
import Testing

@Suite struct SecretTests {
    @Test func secrets_printRedactedHoweverTheyArePrinted() {
        let secret = Secret("hunter2")
        let bytes = SecretBytes(Array("hunter2".utf8))
        let key = SealingKey(material: SecretBytes([UInt8](repeating: 0x68, count: 32)))
        var dumped = ""
        dump((secret, bytes), to: &dumped)
        for text in ["\(secret)", String(reflecting: secret), "\(bytes)", String(reflecting: bytes), dumped] {
            #expect(!text.contains("hunter2"))
            #expect(text.contains("<redacted>"))
        }
        struct Holder {
            let secret: Secret
            let bytes: SecretBytes
            let key: SealingKey
        }
        let holder = Holder(secret: secret, bytes: bytes, key: key)
        var dumpedHolder = ""
        dump(holder, to: &dumpedHolder)
        for text in ["\(holder)", String(reflecting: holder), dumpedHolder] {
            #expect(!text.contains("hunter2"))
            #expect(!text.contains("104, 104"))
        }
        #expect(secret.reveal() == "hunter2")
    }

    @Test func consumedArray_isZeroedAndEmptied() {
        var bytes: [UInt8] = [1, 2, 3]
        let secret = SecretBytes(consuming: &bytes)
        #expect(bytes.isEmpty)
        #expect(secret.reveal() == [1, 2, 3])
        #expect(secret.count == 3)
        #expect(secret.withBytes { $0.byteCount } == 3)
    }

    @Test func emptySecret_works() {
        #expect(SecretBytes([]).reveal() == [])
        #expect(constantTimeEquals(SecretBytes([]), SecretBytes([])))
    }

    @Test func random_differsAndHasTheRequestedCount() {
        let random = SystemRandom()
        let samples = (0..<1000).map { _ in random.bytes(16) }
        #expect(Set(samples).count == 1000)
        #expect(samples.allSatisfy { $0.count == 16 })
        #expect(random.bytes(0) == [])
        #expect(!constantTimeEquals(SecretBytes.random(count: 32), SecretBytes.random(count: 32)))
    }
}

@Suite struct ConstantTimeTests {
    @Test(
        arguments: [
            ([], [], true), ([1], [1], true), ([1, 2, 3], [1, 2, 3], true), ([1, 2, 3], [1, 2, 4], false),
            ([9, 2, 3], [1, 2, 3], false), ([1, 2], [1, 2, 3], false), ([], [0], false),
        ] as [([UInt8], [UInt8], Bool)])
    func arrays_areEqualWhenEveryByteIs(_ left: [UInt8], _ right: [UInt8], _ equal: Bool) {
        #expect(constantTimeEquals(left, right) == equal)
        #expect(constantTimeEquals(SecretBytes(left), SecretBytes(right)) == equal)
    }

    @Test func digests_differWhenAnyByteDoes() throws {
        let bytes = SHA256.hash(utf8: "x").bytes
        let digest = try #require(Digest256(bytes: bytes))
        #expect(constantTimeEquals(digest, digest))
        for index in bytes.indices {
            var other = bytes
            other[index] ^= 0x80
            #expect(!constantTimeEquals(digest, try #require(Digest256(bytes: other))))
        }
    }
}
