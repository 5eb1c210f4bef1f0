/// Parses one JSON text strictly by RFC 8259.
///
/// Stricter than the grammar where readers differ, so that what is checked is what is used: refuses duplicate members
/// (after resolving escapes), invalid UTF-8, lone surrogates, a byte order mark and trailing data.
package struct JSONReader {
    private let bytes: [UInt8]
    private let maximumDepth: Int
    private var index = 0

    private init(_ bytes: [UInt8], maximumDepth: Int) {
        self.bytes = bytes
        self.maximumDepth = maximumDepth
    }

    /// - Throws: the first fault found.
    package static func parse(_ bytes: [UInt8], limits: JSONLimits = JSONLimits()) throws(JSONError) -> JSONValue {
        guard bytes.count <= limits.maximumBytes else {
            throw JSONError(reason: .tooLarge, offset: limits.maximumBytes)
        }
        var reader = JSONReader(bytes, maximumDepth: min(limits.maximumDepth, JSONLimits.depthCeiling))
        return try reader.text()
    }

    private func failure(_ reason: JSONError.Reason) -> JSONError { JSONError(reason: reason, offset: index) }

    private mutating func text() throws(JSONError) -> JSONValue {
        // RFC 8259 §8.1 lets a reader ignore a byte order mark; refusing it keeps readers in agreement.
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { throw failure(.byteOrderMark) }
        skipWhitespace()
        let value = try value(depth: 0)
        skipWhitespace()
        guard index == bytes.count else { throw failure(.trailingData) }
        return value
    }

    private mutating func skipWhitespace() {
        while index < bytes.count {
            switch bytes[index] {
            case 0x20, 0x09, 0x0A, 0x0D: index += 1
            default: return
            }
        }
    }

    private func peek() throws(JSONError) -> UInt8 {
        guard index < bytes.count else { throw failure(.unexpectedEnd) }
        return bytes[index]
    }

    /// - Parameter depth: the number of open arrays and objects around the value.
    private mutating func value(depth: Int) throws(JSONError) -> JSONValue {
        switch try peek() {
        case UInt8(ascii: "{"): return .object(try object(depth: depth + 1))
        case UInt8(ascii: "["): return .array(try array(depth: depth + 1))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try number())
        default: throw failure(.unexpectedByte)
        }
    }

    private mutating func word(_ word: String, _ value: JSONValue) throws(JSONError) -> JSONValue {
        for expected in word.utf8 {
            guard try peek() == expected else { throw failure(.unexpectedByte) }
            index += 1
        }
        return value
    }

    // MARK: Arrays and objects

    private mutating func array(depth: Int) throws(JSONError) -> [JSONValue] {
        guard depth <= maximumDepth else { throw failure(.tooDeep) }
        index += 1
        skipWhitespace()
        if try peek() == UInt8(ascii: "]") {
            index += 1
            return []
        }
        var elements: [JSONValue] = []
        while true {
            skipWhitespace()
            elements.append(try value(depth: depth))
            if try closes(with: UInt8(ascii: "]")) { return elements }
        }
    }

    private mutating func object(depth: Int) throws(JSONError) -> JSONObject {
        guard depth <= maximumDepth else { throw failure(.tooDeep) }
        index += 1
        skipWhitespace()
        if try peek() == UInt8(ascii: "}") {
            index += 1
            return JSONObject()
        }
        var members: [JSONObject.Member] = []
        var seen: Set<ExactText> = []
        while true {
            skipWhitespace()
            guard try peek() == UInt8(ascii: "\"") else { throw failure(.unexpectedByte) }
            let start = index
            let name = try string()
            guard Self.isNew(name, after: members, &seen) else {
                throw JSONError(reason: .duplicateMember, offset: start)
            }
            skipWhitespace()
            guard try peek() == UInt8(ascii: ":") else { throw failure(.unexpectedByte) }
            index += 1
            skipWhitespace()
            members.append(JSONObject.Member(name: name, value: try value(depth: depth)))
            if try closes(with: UInt8(ascii: "}")) { return JSONObject(unique: members) }
        }
    }

    /// Up to this many names are compared one by one. Apple's tokens have some fifteen claims, and comparing with all
    /// of them costs less than hashing one.
    private static let linearSearchLimit = 24

    /// Whether no member has this name.
    /// - Parameter seen: the names so far, once there are many.
    private static func isNew(
        _ name: String, after members: [JSONObject.Member], _ seen: inout Set<ExactText>
    ) -> Bool {
        if members.count < linearSearchLimit { return !members.contains { $0.name.isExactly(name) } }
        if seen.isEmpty { seen = Set(members.map { ExactText(text: $0.name) }) }
        return seen.insert(ExactText(text: name)).inserted
    }

    /// After an element: true at the closing bracket, false after a comma.
    private mutating func closes(with bracket: UInt8) throws(JSONError) -> Bool {
        skipWhitespace()
        switch try peek() {
        case bracket:
            index += 1
            return true
        case UInt8(ascii: ","):
            let comma = index
            index += 1
            skipWhitespace()
            if index < bytes.count, bytes[index] == bracket {
                throw JSONError(reason: .trailingComma, offset: comma)
            }
            return false
        default: throw failure(.unexpectedByte)
        }
    }

    // MARK: Numbers

    /// RFC 8259 §6: `[ "-" ] int [ frac ] [ exp ]`.
    private mutating func number() throws(JSONError) -> JSONNumber {
        let start = index
        if bytes[index] == UInt8(ascii: "-") { index += 1 }
        let leadingZero = index < bytes.count && bytes[index] == UInt8(ascii: "0")
        let integerDigits = skipDigits()
        guard integerDigits > 0, !(leadingZero && integerDigits > 1) else { throw failure(.invalidNumber) }
        if index < bytes.count, bytes[index] == UInt8(ascii: ".") {
            index += 1
            guard skipDigits() > 0 else { throw failure(.invalidNumber) }
        }
        if index < bytes.count, bytes[index] | 0x20 == UInt8(ascii: "e") {
            index += 1
            if index < bytes.count, bytes[index] == UInt8(ascii: "+") || bytes[index] == UInt8(ascii: "-") {
                index += 1
            }
            guard skipDigits() > 0 else { throw failure(.invalidNumber) }
        }
        return JSONNumber(grammatical: String(decoding: bytes[start..<index], as: UTF8.self))
    }

    private mutating func skipDigits() -> Int {
        let start = index
        while index < bytes.count, bytes[index] >= UInt8(ascii: "0"), bytes[index] <= UInt8(ascii: "9") { index += 1 }
        return index - start
    }

    // MARK: Strings

    private mutating func string() throws(JSONError) -> String {
        let opening = index
        let start = index + 1
        index = plainEnd(from: start)
        switch try peek() {
        case UInt8(ascii: "\""):
            guard let text = validated(start..<index) else {
                throw JSONError(reason: .invalidUTF8, offset: opening)
            }
            index += 1
            return text
        case UInt8(ascii: "\\"): return try escapedString(from: start)
        default: throw failure(.controlCharacter)
        }
    }

    private func validated(_ range: Range<Int>) -> String? {
        let span = bytes.span.extracting(range)
        var all: UInt8 = 0
        for index in span.indices { all |= span[index] }
        // ASCII needs no validation, and nearly all text is ASCII.
        if all < 0x80 { return String(decoding: bytes[range], as: UTF8.self) }
        return String(validating: bytes[range], as: UTF8.self)
    }

    /// The first quotation mark, backslash or control character at or after `start`.
    private func plainEnd(from start: Int) -> Int {
        let bytes = bytes.span
        var index = start
        while index < bytes.count, bytes[index] != UInt8(ascii: "\""), bytes[index] != UInt8(ascii: "\\"),
            bytes[index] >= 0x20
        {
            index += 1
        }
        return index
    }

    /// The rest of a string with escapes; `index` is at the first of them.
    private mutating func escapedString(from start: Int) throws(JSONError) -> String {
        var units = Array(bytes[start..<index])
        while true {
            let byte = try peek()
            switch byte {
            case UInt8(ascii: "\""):
                // Validated as a whole: each escape is complete UTF-8, and completes no broken sequence.
                guard let text = String(validating: units, as: UTF8.self) else {
                    throw JSONError(reason: .invalidUTF8, offset: start - 1)
                }
                index += 1
                return text
            case UInt8(ascii: "\\"):
                let scalar = try escape()
                units.append(contentsOf: String(scalar).utf8)
            case 0..<0x20: throw failure(.controlCharacter)
            default:
                units.append(byte)
                index += 1
            }
        }
    }

    private mutating func escape() throws(JSONError) -> Unicode.Scalar {
        index += 1
        let byte = try peek()
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"):
            index += 1
            return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return simple(0x08)
        case UInt8(ascii: "f"): return simple(0x0C)
        case UInt8(ascii: "n"): return simple(0x0A)
        case UInt8(ascii: "r"): return simple(0x0D)
        case UInt8(ascii: "t"): return simple(0x09)
        case UInt8(ascii: "u"): return try unicodeEscape()
        default: throw failure(.invalidEscape)
        }
    }

    private mutating func simple(_ byte: UInt8) -> Unicode.Scalar {
        index += 1
        return Unicode.Scalar(byte)
    }

    /// RFC 8259 §7: `\uXXXX`, or two of them as a UTF-16 surrogate pair.
    private mutating func unicodeEscape() throws(JSONError) -> Unicode.Scalar {
        let start = index - 1
        let first = try fourDigits()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard first < 0xDC00, index + 1 < bytes.count, bytes[index] == UInt8(ascii: "\\"),
            bytes[index + 1] == UInt8(ascii: "u")
        else { throw JSONError(reason: .loneSurrogate, offset: start) }
        index += 1
        let second = try fourDigits()
        guard (0xDC00...0xDFFF).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (UInt32(first - 0xD800) << 10) + UInt32(second - 0xDC00))
        else { throw JSONError(reason: .loneSurrogate, offset: start) }
        return scalar
    }

    /// `index` is at the `u`.
    private mutating func fourDigits() throws(JSONError) -> UInt16 {
        index += 1
        var value: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = Hexadecimal.value(of: try peek()) else { throw failure(.invalidEscape) }
            value = value << 4 | UInt16(digit)
            index += 1
        }
        return value
    }
}
