import Coding
import Testing

@Suite struct Base64Tests {
    /// RFC 4648 §10.
    static let rfc4648 = [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ]

    @Test(arguments: rfc4648)
    func bothAlphabets_matchRFC4648(_ plain: String, _ text: String) {
        let bytes = Array(plain.utf8)
        let unpadded = String(text.prefix { $0 != "=" })
        #expect(Base64.encode(bytes) == text)
        #expect(Base64.decode(Array(text.utf8)) == bytes)
        #expect(Base64URL.encode(bytes) == unpadded)
        #expect(Base64URL.decode(unpadded) == bytes)
    }

    @Test func url_usesItsOwnLastTwoCharacters() {
        #expect(Base64URL.encode([0xFB, 0xFF]) == "-_8")
        #expect(Base64.encode([0xFB, 0xFF]) == "+/8=")
        #expect(Base64URL.decode("-_8") == [0xFB, 0xFF])
        #expect(Base64URL.decode("+/8") == nil)
        #expect(Base64.decode(Array("-_8=".utf8)) == nil)
    }

    @Test(arguments: [
        "Zg==", "Zg=", "Zm9v=", "=", "Z", "Zm9vY", " Zg", "Zg ", "Z g", "Zg\n", "Z\tg", "Zm+v", "Zm/v", "Zm.v", "Zg\0",
        "Zé",
        "Ｚg",
    ])
    func url_refusesNonCanonicalTexts(_ text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test func url_acceptsExactlyOneTextForOneByte() {
        // Of the 64 texts that start with the same six bits, four leave the surplus bits zero.
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        for first in alphabet {
            let accepted = alphabet.filter { Base64URL.decode("\(first)\($0)") != nil }
            #expect(accepted == "AQgw")
            let acceptedAsThird = alphabet.filter { Base64URL.decode("A\(first)\($0)") != nil }
            #expect(acceptedAsThird == "AEIMQUYcgkosw048")
        }
    }

    @Test func url_roundTripsEveryLength() {
        for count in 0..<100 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ count) }
            let text = Base64URL.encode(bytes)
            #expect(Base64URL.decode(text) == bytes)
            #expect(Base64URL.decode(Array(text.utf8)[...]) == bytes)
            #expect(Base64.decode(Array(Base64.encode(bytes).utf8)) == bytes)
        }
    }

    @Test func pemBody_skipsLineEndsAndNothingElse() {
        #expect(Base64.decode(pemBody: "Zm9v\r\nYmFy\n") == Array("foobar".utf8))
        #expect(Base64.decode(pemBody: "Zm9v!YmFy") == nil)
        #expect(Base64.decode(pemBody: "Zm9vYg") == nil)
        #expect(Base64.decode(pemBody: "Zm9vYh==") == nil)
        #expect(Base64.decode(pemBody: "Zg======") == nil)
        #expect(Base64.decode(pemBody: "Zg==Zg==") == nil)
        #expect(Base64.decode(pemBody: "====") == nil)
    }
}

@Suite struct HexadecimalTests {
    @Test func digits_goBothWays() {
        #expect(Hexadecimal.encode([0x00, 0x9A, 0xFF]) == "009aff")
        #expect(Hexadecimal.decode("009AfF") == [0x00, 0x9A, 0xFF])
        #expect(Hexadecimal.decode("0") == nil)
        #expect(Hexadecimal.decode("0g") == nil)
        #expect(Hexadecimal.decode("") == [])
    }
}
