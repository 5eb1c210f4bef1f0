import Coding
import Crypto
import Testing

@Suite struct P256Tests {
    @Test func signature_isRAndSAndVerifies_UnlessABitIsFlipped() throws {
        let key = try P256PrivateKey.generate()
        let message = Array("message".utf8)
        // Often enough that R or S starts with zero bytes, which DER drops.
        for round in 0..<600 {
            let signature = try key.signES256(message + [UInt8(round % 256)])
            #expect(signature.count == 64)
            #expect(key.publicKey.verifyES256(signature: signature, message: message + [UInt8(round % 256)]))
        }
        let signature = try key.signES256([1, 2, 3])
        for bit in 0..<512 {
            var changed = signature
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(!key.publicKey.verifyES256(signature: changed, message: [1, 2, 3]))
        }
        #expect(!key.publicKey.verifyES256(signature: signature, message: [1, 2, 4]))
        #expect(!(try P256PrivateKey.generate()).publicKey.verifyES256(signature: signature, message: [1, 2, 3]))
    }

    /// CVE-2022-21449 and its like: R or S of zero, of the group's order, and wrong lengths.
    @Test func degenerateSignatures_areRefused() throws {
        let key = try P256PrivateKey.generate()
        let message: [UInt8] = [1, 2, 3]
        let good = try key.signES256(message)
        let zero = [UInt8](repeating: 0, count: 32)
        let order = hex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
        let full = [UInt8](repeating: 0xFF, count: 32)
        for part in [zero, order, full] {
            for signature in [part + part, part + good[32...], good[..<32] + part] {
                #expect(!key.publicKey.verifyES256(signature: signature, message: message))
            }
        }
        for signature in [[], [0], Array(good.dropLast()), good + [0], [0] + good, good + good] {
            #expect(!key.publicKey.verifyES256(signature: signature, message: message))
        }
    }

    @Test func coordinates_makeTheSameKey() throws {
        let key = try P256PrivateKey.generate()
        let (x, y) = try #require(key.publicKey.coordinates)
        #expect(x.count == 32 && y.count == 32)
        let rebuilt = try P256PublicKey(x: x, y: y)
        #expect(rebuilt.verifyES256(signature: try key.signES256([9]), message: [9]))
    }

    @Test func coordinates_offTheCurveOrOfAnotherLengthAreRefused() throws {
        let (x, y) = try #require(try P256PrivateKey.generate().publicKey.coordinates)
        var off = y
        off[31] ^= 1
        let zero = [UInt8](repeating: 0, count: 32)
        let field = hex("ffffffff00000001000000000000000000000000ffffffffffffffffffffffff")
        #expect(throws: KeyError.invalidPoint) { try P256PublicKey(x: x, y: off) }
        #expect(throws: KeyError.invalidPoint) { try P256PublicKey(x: zero, y: zero) }
        #expect(throws: KeyError.invalidPoint) { try P256PublicKey(x: field, y: y) }
        #expect(throws: KeyError.malformed) { try P256PublicKey(x: Array(x.dropLast()), y: y) }
        #expect(throws: KeyError.malformed) { try P256PublicKey(x: x, y: y + [0]) }
        #expect(throws: KeyError.malformed) { try P256PublicKey(x: [], y: []) }
    }
}
