import Coding
import Crypto
import RelyingParty

/// The content of a request with a password, split: the password goes from the request's bytes to memory that is
/// zeroed, and never becomes a String. The rest reads as if the password were empty.
struct PasswordBody: Sendable {
    /// Nil when there is none, or an empty one.
    let password: Password?
    /// Everything else.
    let rest: [UInt8]

    /// - Throws: `.invalidRequest` when the password is not UTF-8.
    private init(_ body: [UInt8], value: Range<Int>?, decode: (ArraySlice<UInt8>, inout [UInt8]) -> Bool)
        throws(WebFailure)
    {
        guard let value, !value.isEmpty else {
            (password, rest) = (nil, body)
            return
        }
        var bytes: [UInt8] = []
        // Decoding never lengthens it: no copy is left behind by growing.
        bytes.reserveCapacity(value.count)
        let isText = decode(body[value], &bytes) && Self.isUTF8(bytes)
        // Takes over the bytes and zeroes them, whatever they are.
        let secret = Password(consuming: &bytes)
        guard isText else { throw .invalidRequest("password is not a string") }
        password = secret
        rest = Array(body[..<value.lowerBound]) + body[value.upperBound...]
    }

    private static func isUTF8(_ bytes: [UInt8]) -> Bool {
        var parser = Unicode.UTF8.ForwardParser()
        var iterator = bytes.makeIterator()
        while true {
            switch parser.parseScalar(from: &iterator) {
            case .valid: continue
            case .emptyInput: return true
            case .error: return false
            }
        }
    }
}

// Forms: application/x-www-form-urlencoded, as our own page sends it.
extension PasswordBody {
    /// - Throws: when there are two passwords, or one that is not UTF-8.
    init(form body: [UInt8]) throws(WebFailure) {
        var value: Range<Int>?
        for piece in body.split(separator: UInt8(ascii: "&")) {
            let equals = piece.firstIndex(of: UInt8(ascii: "=")) ?? piece.endIndex
            // Names may be escaped; none of ours is long.
            guard equals - piece.startIndex <= 3 * Self.name.utf8.count,
                let name = try? FormDecoder.parse(Array(piece[..<equals])).first?.name, name.isExactly(Self.name)
            else { continue }
            guard value == nil else { throw .badRequest("password is given more than once") }
            value = min(equals + 1, piece.endIndex)..<piece.endIndex
        }
        do {
            try self.init(body, value: value, decode: Self.decodeForm)
        } catch {
            throw .badRequest("password is not a string")
        }
    }

    private static let name = "password"

    private static func decodeForm(_ text: ArraySlice<UInt8>, into bytes: inout [UInt8]) -> Bool {
        FormDecoder.append(decoding: text.span, to: &bytes)
        return true
    }
}

// JSON: only the password is read here. The strict parser then refuses any rest that this scan took for JSON and is
// not.
extension PasswordBody {
    /// - Throws: when a member's name is escaped (it could be another spelling of this one), the password is repeated,
    ///   or it is not valid JSON text.
    init(json body: [UInt8]) throws(WebFailure) {
        var scan = MemberScan(bytes: body)
        var value: Range<Int>?
        while let member = scan.next() {
            guard !body[member.name].contains(UInt8(ascii: "\\")) else {
                throw .invalidRequest("the name of a member is escaped")
            }
            guard body[member.name].elementsEqual(Self.name.utf8) else { continue }
            guard value == nil else { throw .invalidRequest("password is given twice") }
            guard let text = member.text else { throw .invalidRequest("password is not a string") }
            value = text
        }
        try self.init(body, value: value, decode: Self.decodeJSON)
    }

    /// RFC 8259 §7; false for invalid text.
    private static func decodeJSON(_ text: ArraySlice<UInt8>, into bytes: inout [UInt8]) -> Bool {
        var index = text.startIndex
        func digits(at start: Int) -> UInt32? {
            guard start + 4 <= text.endIndex else { return nil }
            var unit: UInt32 = 0
            for byte in text[start..<(start + 4)] {
                guard let digit = Hexadecimal.value(of: byte) else { return nil }
                unit = unit << 4 | UInt32(digit)
            }
            return unit
        }
        while index < text.endIndex {
            let byte = text[index]
            guard byte >= 0x20 else { return false }
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                index += 1
                continue
            }
            guard index + 1 < text.endIndex else { return false }
            switch text[index + 1] {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): bytes.append(text[index + 1])
            case UInt8(ascii: "b"): bytes.append(0x08)
            case UInt8(ascii: "f"): bytes.append(0x0C)
            case UInt8(ascii: "n"): bytes.append(0x0A)
            case UInt8(ascii: "r"): bytes.append(0x0D)
            case UInt8(ascii: "t"): bytes.append(0x09)
            case UInt8(ascii: "u"):
                guard var unit = digits(at: index + 2) else { return false }
                if (0xD800..<0xDC00).contains(unit) {
                    guard index + 7 < text.endIndex, text[index + 6] == UInt8(ascii: "\\"),
                        text[index + 7] == UInt8(ascii: "u"), let low = digits(at: index + 8),
                        (0xDC00..<0xE000).contains(low)
                    else { return false }
                    unit = 0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00)
                    index += 6
                }
                guard let scalar = Unicode.Scalar(unit) else { return false }
                bytes.append(contentsOf: UTF8.encode(scalar) ?? .init())
                index += 4
            default: return false
            }
            index += 2
        }
        return true
    }

    /// The members of the outermost object, found by quotation marks, colons and brackets.
    private struct MemberScan {
        struct Member {
            var name: Range<Int>
            /// Between the quotation marks; nil for a value that is not a string.
            var text: Range<Int>?
        }

        let bytes: [UInt8]
        private var index = 0
        private var depth = 0

        init(bytes: [UInt8]) {
            self.bytes = bytes
        }

        mutating func next() -> Member? {
            while index < bytes.count {
                switch bytes[index] {
                case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
                case UInt8(ascii: "\""):
                    guard let text = text() else { return nil }
                    skipBlanks()
                    guard depth == 1, index < bytes.count, bytes[index] == UInt8(ascii: ":") else { continue }
                    index += 1
                    skipBlanks()
                    guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") else {
                        return Member(name: text, text: nil)
                    }
                    return self.text().map { Member(name: text, text: $0) }
                default: break
                }
                index += 1
            }
            return nil
        }

        /// Reads the text whose first quotation mark is here, and moves past its last one.
        private mutating func text() -> Range<Int>? {
            let start = index + 1
            index = start
            while index < bytes.count {
                switch bytes[index] {
                case UInt8(ascii: "\\"): index += 2
                case UInt8(ascii: "\""):
                    index += 1
                    return start..<(index - 1)
                default: index += 1
                }
            }
            return nil
        }

        private mutating func skipBlanks() {
            while index < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[index]) { index += 1 }
        }
    }
}
