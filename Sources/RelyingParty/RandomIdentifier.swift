package import Coding
package import Crypto

/// Makes what follows the prefix of `usr_`, `ses_` and `evt_` identifiers: 26 characters of lower-case Crockford base32
/// (no i, l, o, u), 130 bits. Identifiers are public; nothing is proven by knowing one.
///
/// A person's are random throughout. Those of sessions and events begin with their time, which is no secret: new ones
/// stand side by side in an index, where random ones would touch, and SQLite write, a page each.
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

    /// A new identifier that begins with the milliseconds since 1970 in 48 bits, 82 random ones behind: their texts are in
    /// the order of their times.
    package func make<Identifier: PrefixedIdentifier>(
        at now: Timestamp, _ type: Identifier.Type = Identifier.self
    ) -> Identifier {
        let time = UInt64(clamping: now.milliseconds)
        var bytes = stride(from: 40, through: 0, by: -8).map { UInt8(truncatingIfNeeded: time >> UInt64($0)) }
        bytes += random.bytes(Self.byteCount - bytes.count)
        return Identifier(unchecked: Identifier.prefix + Self.encode(bytes))
    }

    /// What `encode` made these characters from, its last six bits zero; nil when they are none of its making.
    static func decode(_ characters: some Sequence<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(byteCount)
        var accumulator: UInt32 = 0
        var bits = 0
        var count = 0
        for character in characters {
            guard let value = alphabet.firstIndex(of: character) else { return nil }
            count += 1
            accumulator = (accumulator << 5 | UInt32(value)) & 0xFFFF
            bits += 5
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: accumulator >> UInt32(bits)))
            }
        }
        guard count == characterCount else { return nil }
        bytes.append(UInt8(truncatingIfNeeded: accumulator << UInt32(8 - bits)))
        return bytes
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
    /// The 130 bits behind the prefix in 17 bytes, the last six bits zero.
    package var packed: [UInt8]? { RandomIdentifier.decode(rawValue.utf8.dropFirst(Self.prefix.utf8.count)) }

    /// - Parameter bytes: what `packed` gave; nil for another length, or bits set beyond the 130.
    package init?(packed bytes: [UInt8]) {
        guard bytes.count == RandomIdentifier.byteCount, bytes[RandomIdentifier.byteCount - 1] & 0x3F == 0 else {
            return nil
        }
        self.init(unchecked: Self.prefix + RandomIdentifier.encode(bytes))
    }

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
