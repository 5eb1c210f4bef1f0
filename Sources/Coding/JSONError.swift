/// Limits on a JSON text.
package struct JSONLimits: Hashable, Sendable {
    package var maximumBytes: Int
    /// Nested arrays and objects; at most `depthCeiling`, since each level takes stack.
    package var maximumDepth: Int

    package static let depthCeiling = 256

    package init(maximumBytes: Int = 1_048_576, maximumDepth: Int = 32) {
        self.maximumBytes = maximumBytes
        self.maximumDepth = maximumDepth
    }
}

/// Why a text is not JSON as this server accepts it, and where.
package struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Reason: String, Hashable, Sendable {
        case tooLarge = "the text is longer than allowed"
        case tooDeep = "arrays and objects are nested deeper than allowed"
        case unexpectedEnd = "the text ends too early"
        case unexpectedByte = "unexpected character"
        case trailingComma = "no value follows this comma"
        case trailingData = "text follows the value"
        case byteOrderMark = "the text starts with a byte order mark"
        case invalidNumber = "this is not a number"
        case invalidEscape = "unknown escape"
        case loneSurrogate = "unpaired surrogate"
        case controlCharacter = "a control character must be escaped"
        case invalidUTF8 = "the string is not UTF-8"
        case duplicateMember = "duplicate member"
    }

    package let reason: Reason
    /// The number of bytes before the fault.
    package let offset: Int

    package var description: String { "\(reason.rawValue) (at byte \(offset))" }
}
