/// Sets of ASCII characters as two words of bits, so that a look-up touches no memory.
package struct ByteClass: Sendable {
    let low: UInt64
    let high: UInt64

    @inline(__always)
    package func contains(_ byte: UInt8) -> Bool {
        let word = byte < 64 ? low : high
        return byte < 128 && (word &>> UInt64(byte & 63)) & 1 == 1
    }

    /// `tchar` of RFC 9110 §5.6.2: letters, digits and !#$%&'*+-.^_`|~
    package static var token: ByteClass { ByteClass(low: 0x03ff_6cfa_0000_0000, high: 0x57ff_ffff_c7ff_fffe) }

    /// Letters, digits and -._~ (RFC 3986 §2.3): the only characters accepted in a registered name.
    package static var hostName: ByteClass { ByteClass(low: 0x03ff_6000_0000_0000, high: 0x47ff_fffe_87ff_fffe) }

    /// `pchar`, `/` and `%` of RFC 3986 §3.3, and the brackets of an IPv6 authority in absolute-form.
    package static var path: ByteClass { ByteClass(low: 0x2fff_fff2_0000_0000, high: 0x47ff_fffe_afff_ffff) }

    /// Visible ASCII but `#`, `"`, `<` and `>`. Wider than RFC 3986 §3.4, since browsers send `|`, `^`, `{`, `}`, `\`
    /// and the grave accent raw (WHATWG URL, query percent-encode set).
    package static var query: ByteClass { ByteClass(low: 0xafff_fff2_0000_0000, high: 0x7fff_ffff_ffff_ffff) }

    /// The bytes of a field value: HTAB, SP, visible ASCII and obs-text (RFC 9110 §5.5).
    @inline(__always)
    package static func isFieldValue(_ byte: UInt8) -> Bool { byte >= 0x20 ? byte != 0x7f : byte == 0x09 }

    /// SP or HTAB: whitespace inside a line.
    @inline(__always)
    static func isBlank(_ byte: UInt8) -> Bool { byte == ASCII.space || byte == ASCII.tab }
}

/// The characters the wire layer names.
enum ASCII {
    static var tab: UInt8 { 0x09 }
    static var lineFeed: UInt8 { 0x0a }
    static var carriageReturn: UInt8 { 0x0d }
    static var space: UInt8 { 0x20 }
    static var quote: UInt8 { 0x22 }
    static var hash: UInt8 { 0x23 }
    static var percent: UInt8 { 0x25 }
    static var asterisk: UInt8 { 0x2a }
    static var comma: UInt8 { 0x2c }
    static var dot: UInt8 { 0x2e }
    static var slash: UInt8 { 0x2f }
    static var zero: UInt8 { 0x30 }
    static var nine: UInt8 { 0x39 }
    static var colon: UInt8 { 0x3a }
    static var semicolon: UInt8 { 0x3b }
    static var equals: UInt8 { 0x3d }
    static var question: UInt8 { 0x3f }
    static var leftBracket: UInt8 { 0x5b }
    static var backslash: UInt8 { 0x5c }
    static var rightBracket: UInt8 { 0x5d }
    static var delete: UInt8 { 0x7f }

    /// In lower case, if it is a letter.
    static func folded(_ byte: UInt8) -> UInt8 { byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte }
}

/// Whether `range` of `bytes` spells `text`, which must be lower-case ASCII, in any case of `bytes`.
func equalsIgnoringCase(_ bytes: Span<UInt8>, _ range: Range<Int>, _ text: String) -> Bool {
    guard range.count == text.utf8.count else { return false }
    var index = range.lowerBound
    for expected in text.utf8 {
        let byte = bytes[index]
        let folded = byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte
        guard folded == expected else { return false }
        index += 1
    }
    return true
}
