package import Crypto

/// Makes the random part of `usr_`, `ses_` and `evt_` identifiers: 26 characters of lower-case Crockford base32
/// (no i, l, o, u), 130 random bits. Identifiers are public; nothing is proven by knowing one.
package struct RandomIdentifier: Sendable {
    /// Random bytes one identifier is cut from; the last six bits are dropped.
    package static let byteCount = 17
    package static let characterCount = 26

    private static let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)

    private let random: any RandomSource

    package init(random: any RandomSource) {
        self.random = random
    }

    /// A new identifier, prefix included.
    package func make<Identifier: PrefixedIdentifier>(_ type: Identifier.Type = Identifier.self) -> Identifier {
        Identifier(unchecked: Identifier.prefix + Self.encode(random.bytes(Self.byteCount)))
    }

    /// The first 130 bits of `bytes`, five at a time, most significant first.
    static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(characterCount)
        var accumulator: UInt32 = 0
        var bits = 0
        for byte in bytes {
            accumulator = (accumulator << 8 | UInt32(byte)) & 0xFFFF
            bits += 8
            while bits >= 5, text.count < characterCount {
                bits -= 5
                text.append(alphabet[Int(accumulator >> UInt32(bits)) & 31])
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension PrefixedIdentifier {
    /// An identifier as it came from outside: the prefix and 26 characters of the alphabet, nothing else.
    package init?(parsing text: String) {
        let bytes = Array(text.utf8)
        let prefix = Array(Self.prefix.utf8)
        guard bytes.count == prefix.count + RandomIdentifier.characterCount, bytes.starts(with: prefix) else {
            return nil
        }
        for byte in bytes.dropFirst(prefix.count) {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): continue
            case UInt8(ascii: "i"), UInt8(ascii: "l"), UInt8(ascii: "o"), UInt8(ascii: "u"): return nil
            case UInt8(ascii: "a")...UInt8(ascii: "z"): continue
            default: return nil
            }
        }
        self.init(unchecked: text)
    }
}
