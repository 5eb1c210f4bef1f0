import Crypto
import Testing

@Suite struct AES256GCMTests {
    static let longKey = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"
    static let longPlaintext = """
        d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525
        b16aedf5aa0de657ba637b391aafd255
        """
    static let longCiphertext = """
        522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838
        c5f61e6393ba7a0abcc9f662898015ad
        """

    struct Vector: Sendable {
        let key, nonce, plaintext, context, sealed: [UInt8]
    }

    /// The GCM specification submitted to NIST (McGrew and Viega), test cases 13 to 16.
    static let vectors = [
        Vector(
            key: [UInt8](repeating: 0, count: 32), nonce: [UInt8](repeating: 0, count: 12), plaintext: [], context: [],
            sealed: hex("530f8afbc74536b9a963b4f1c4cb738b")),
        Vector(
            key: [UInt8](repeating: 0, count: 32), nonce: [UInt8](repeating: 0, count: 12),
            plaintext: [UInt8](repeating: 0, count: 16), context: [],
            sealed: hex("cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919")),
        Vector(
            key: hex(longKey), nonce: hex("cafebabefacedbaddecaf888"), plaintext: hex(longPlaintext), context: [],
            sealed: hex(longCiphertext) + hex("b094dac5d93471bdec1a502270e3cc6c")),
        Vector(
            key: hex(longKey), nonce: hex("cafebabefacedbaddecaf888"), plaintext: Array(hex(longPlaintext).prefix(60)),
            context: hex("feedfacedeadbeeffeedfacedeadbeefabaddad2"),
            sealed: Array(hex(longCiphertext).prefix(60)) + hex("76fc6ece0f4e1768cddf8853bb2d551b")),
    ]

    @Test(arguments: vectors)
    func sealAndOpen_matchTheSpecification(_ vector: Vector) {
        let key = SecretBytes(vector.key)
        let sealed = AES256GCM.seal(vector.plaintext, key: key, nonce: vector.nonce, authenticating: vector.context)
        #expect(sealed == vector.sealed)
        let opened = AES256GCM.open(
            vector.sealed[...], key: key, nonce: vector.nonce, authenticating: vector.context)
        #expect(opened == vector.plaintext)
    }

    @Test(arguments: vectors)
    func open_refusesEveryFlippedBit(_ vector: Vector) {
        let key = SecretBytes(vector.key)
        for bit in 0..<(vector.sealed.count * 8) {
            var sealed = vector.sealed
            sealed[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(
                AES256GCM.open(sealed[...], key: key, nonce: vector.nonce, authenticating: vector.context) == nil)
        }
        #expect(
            AES256GCM.open(vector.sealed[...], key: key, nonce: vector.nonce, authenticating: vector.context + [0])
                == nil)
        #expect(
            AES256GCM.open(
                vector.sealed.dropLast(), key: key, nonce: vector.nonce, authenticating: vector.context) == nil)
        #expect(AES256GCM.open([], key: key, nonce: vector.nonce, authenticating: vector.context) == nil)
    }
}

@Suite struct SealingTests {
    private let ring = SealingKeyring(current: Self.key(1))

    static func key(_ byte: UInt8) -> SealingKey {
        SealingKey(material: SecretBytes([UInt8](repeating: byte, count: 32)))
    }

    static let purposes: [SealingPurpose] = [
        .attempt(hour: 0), .attempt(hour: 1), .attempt(hour: -1), .refreshToken, .nativeChallenge(hour: 0),
        .nativeChallenge(hour: 1), .signingKey, .other("x"), .other("attempt/0"), .other(""),
    ]

    @Test(arguments: purposes)
    func text_opensForItsPurposeAndContextOnly(_ purpose: SealingPurpose) throws {
        let plaintext = Array("the nonce and all".utf8)
        let sealed = ring.seal(plaintext, purpose: purpose, context: [1, 2])
        #expect(sealed.count == plaintext.count + SealingKeyring.overhead)
        #expect(try ring.open(sealed, purpose: purpose, context: [1, 2]) == plaintext)
        for other in Self.purposes where other != purpose {
            #expect(throws: SealingError.notAuthentic) { try ring.open(sealed, purpose: other, context: [1, 2]) }
        }
        for context in [[], [1], [2, 1], [1, 2, 0]] as [[UInt8]] {
            #expect(throws: SealingError.notAuthentic) { try ring.open(sealed, purpose: purpose, context: context) }
        }
    }

    @Test func purposeAndContext_areKeptApart() {
        let sealed = ring.seal([1], purpose: .other("a"), context: Array("bc".utf8))
        #expect(throws: SealingError.notAuthentic) {
            try ring.open(sealed, purpose: .other("ab"), context: Array("c".utf8))
        }
    }

    @Test func everyFlippedBit_isRefused() {
        let ring = SealingKeyring(current: Self.key(1), previous: [Self.key(2)])
        let sealed = ring.seal([1, 2, 3], purpose: .refreshToken)
        for bit in 0..<(sealed.count * 8) {
            var changed = sealed
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            let expected: SealingError = bit < 8 ? .malformed : bit < 40 ? .unknownKey : .notAuthentic
            #expect(throws: expected) { try ring.open(changed, purpose: .refreshToken) }
        }
    }

    @Test func everyTruncation_isRefused() {
        let sealed = ring.seal([1, 2, 3], purpose: .refreshToken)
        for count in 0..<sealed.count {
            #expect(throws: SealingError.self) { try ring.open(Array(sealed[..<count]), purpose: .refreshToken) }
        }
        #expect(throws: SealingError.notAuthentic) { try ring.open(sealed + [0], purpose: .refreshToken) }
    }

    @Test func emptyText_isSealedAndOpened() throws {
        #expect(try ring.open(ring.seal([], purpose: .signingKey), purpose: .signingKey) == [])
    }

    @Test func previousKeys_openAndNeverSeal() throws {
        let old = SealingKeyring(current: Self.key(1))
        let rotated = SealingKeyring(current: Self.key(2), previous: [Self.key(1)])
        let later = SealingKeyring(current: Self.key(2))
        let sealedByOld = old.seal([7], purpose: .refreshToken)
        let sealedByNew = rotated.seal([8], purpose: .refreshToken)
        #expect(try rotated.open(sealedByOld, purpose: .refreshToken) == [7])
        #expect(try later.open(sealedByNew, purpose: .refreshToken) == [8])
        #expect(throws: SealingError.unknownKey) { try old.open(sealedByNew, purpose: .refreshToken) }
        #expect(throws: SealingError.unknownKey) { try later.open(sealedByOld, purpose: .refreshToken) }
        #expect(rotated.currentKeyID == Self.key(2).id)
    }

    @Test func sealingTwice_givesDifferentTexts() {
        let texts = (0..<1000).map { _ in ring.seal([1], purpose: .attempt(hour: 5)) }
        #expect(Set(texts).count == 1000)
    }

    @Test func moreHoursThanAreRemembered_stillOpen() throws {
        let ring = SealingKeyring(current: Self.key(3))
        let texts = (0..<40).map { ring.seal([UInt8($0)], purpose: .attempt(hour: Int64($0))) }
        for hour in 0..<40 {
            #expect(try ring.open(texts[hour], purpose: .attempt(hour: Int64(hour))) == [UInt8(hour)])
        }
    }

    @Test func id_namesTheKeyAndNothingElse() {
        let key = Self.key(1)
        #expect(key.id.utf8.count == 8)
        #expect(key.id == Self.key(1).id)
        #expect(key.id != Self.key(2).id)
        #expect(SealingKey.generate().id != SealingKey.generate().id)
    }

    @Test func format_isStable() throws {
        // Made once by other software (Python's cryptography) from the description of the format, and kept: a change of
        // the format, the derivation or the labels would make stored texts unreadable.
        let ring = SealingKeyring(current: Self.key(0x42))
        let sealed = hex(Self.golden)
        #expect(try ring.open(sealed, purpose: .attempt(hour: 490_000), context: [1, 2, 3]) == Array("golden".utf8))
    }

    /// Key material 32 times 0x42, nonce 0 to 11.
    static let golden = "01f65ae0fe000102030405060708090a0b8f25fd4c0d6215a66184b517ea625cafff7548d69eba"
}
