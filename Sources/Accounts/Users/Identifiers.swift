package import Coding
package import Crypto

/// The public identifier of a `Named`: its prefix and 26 characters, as in the database, JSON and logs. Never a secret.
package struct ID<Named: Identified>: Hashable, Sendable, CustomStringConvertible {
    package let rawValue: String

    @inlinable
    package init(unchecked rawValue: String) { self.rawValue = rawValue }

    @inlinable
    package static func == (left: ID, right: ID) -> Bool { left.rawValue == right.rawValue }

    @inlinable
    package func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }

    package static var prefix: String { Named.idPrefix }
    package var description: String { rawValue }
}

package protocol Identified {
    static var idPrefix: String { get }
}

package typealias UserID = ID<User>
extension User: Identified { package static var idPrefix: String { "usr_" } }

package typealias SessionID = ID<Session>
extension Session: Identified { package static var idPrefix: String { "ses_" } }

package typealias EventID = ID<JournalEntry>
extension JournalEntry: Identified { package static var idPrefix: String { "evt_" } }

package typealias APIKeyID = ID<APIKey>
extension APIKey: Identified { package static var idPrefix: String { "key_" } }

package typealias LinkID = ID<Link>
extension Link: Identified { package static var idPrefix: String { "lnk_" } }

package typealias WaitingID = ID<WaitingIdentity>
extension WaitingIdentity: Identified { package static var idPrefix: String { "wai_" } }

/// Apple's `sub`: opaque, stable within one developer team.
package struct AppleSubject: Hashable, Sendable {
    package let rawValue: String
    package init(_ rawValue: String) { self.rawValue = rawValue }
}

/// Apple's ten-character Team ID.
package struct TeamID: Hashable, Sendable {
    package let rawValue: String
    package init(_ rawValue: String) { self.rawValue = rawValue }
}

/// The Services ID (web) or a bundle ID (apps): the `client_id` at Apple and the `aud` of its tokens.
package struct ClientID: Hashable, Sendable {
    package let rawValue: String
    package init(_ rawValue: String) { self.rawValue = rawValue }
}

/// Makes the part after the prefix of an `ID`: 26 characters of lower-case Crockford base32 (no i, l, o, u), 130 bits.
///
/// A person's identifier is fully random. A session's begins with its time, so that new rows are neighbours in an index,
/// where random ones would each touch, and make SQLite write, another page. An event's begins with its position in
/// the journal, so that it needs no index; the rest distinguishes it from an event at this position before a restore.
package struct RandomIdentifier: Sendable {
    /// Random bytes for one identifier; the last six bits are dropped.
    package static let byteCount = 17
    package static let characterCount = 26

    fileprivate static let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)

    private let random: any RandomSource

    package init(random: any RandomSource) { self.random = random }

    package func make<Named>(_ type: ID<Named>.Type = ID<Named>.self) -> ID<Named> {
        ID(unchecked: Named.idPrefix + Self.encode(random.bytes(Self.byteCount)))
    }

    /// A new identifier of 48 bits of milliseconds since 1970 and 82 random bits: texts sort by time.
    package func make<Named>(at now: Timestamp, _ type: ID<Named>.Type = ID<Named>.self) -> ID<Named> {
        let time = [UInt8](bigEndian: UInt64(clamping: now.milliseconds)).suffix(6)
        return ID(unchecked: Named.idPrefix + Self.encode(time + random.bytes(Self.byteCount - time.count)))
    }

    package func makeSalt() -> [UInt8] { random.bytes(EventID.saltCount) }

    /// A positive number of 41 bits of milliseconds since 1970 and 22 random bits.
    package func makeNumber(at now: Timestamp) -> Int64 {
        (now.milliseconds & 0x1FF_FFFF_FFFF) << 22 | Int64(bigEndianBytes: random.bytes(3)) & 0x3F_FFFF
    }

    /// The bytes from which `encode` makes these characters, with the last six bits zero; nil for any other text.
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

    /// Encodes the first 130 bits of `bytes`, five at a time, most significant first.
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

extension EventID {
    package static let saltCount = 10

    /// - Parameter sequence: up to 48 bits.
    package init(sequence: Int64, salt: [UInt8]) {
        let bytes = [UInt8](bigEndian: sequence).suffix(6) + salt.prefix(Self.saltCount) + [0]
        self.init(unchecked: Self.prefix + RandomIdentifier.encode(Array(bytes)))
    }

    /// Nil for an identifier with other characters.
    package var sequenceAndSalt: (sequence: Int64, salt: [UInt8])? {
        guard let bytes = packed else { return nil }
        return (Int64(bigEndianBytes: bytes.prefix(6)), Array(bytes.dropFirst(6).prefix(Self.saltCount)))
    }
}

extension ID {
    /// The 130 bits after the prefix in 17 bytes, with the last six bits zero.
    package var packed: [UInt8]? { RandomIdentifier.decode(rawValue.utf8.dropFirst(Self.prefix.utf8.count)) }

    package static var packedCount: Int { RandomIdentifier.byteCount }

    /// - Parameter bytes: a value of `packed`. Another length, or a bit set beyond the 130, gives nil.
    package init?(packed bytes: [UInt8]) {
        guard bytes.count == RandomIdentifier.byteCount, bytes[RandomIdentifier.byteCount - 1] & 0x3F == 0 else {
            return nil
        }
        self.init(unchecked: Self.prefix + RandomIdentifier.encode(bytes))
    }

    /// Parses an identifier from outside: the prefix and exactly 26 characters of the alphabet.
    package init?(parsing text: String) {
        let bytes = Array(text.utf8)
        let prefix = Array(Self.prefix.utf8)
        guard bytes.count == prefix.count + RandomIdentifier.characterCount, bytes.starts(with: prefix) else {
            return nil
        }
        guard bytes.dropFirst(prefix.count).allSatisfy(RandomIdentifier.alphabet.contains) else { return nil }
        self.init(unchecked: text)
    }
}
