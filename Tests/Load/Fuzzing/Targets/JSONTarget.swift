import Coding

extension FuzzTarget {
    /// JSON: what is read and written again is the same value and then the same text, by both writers; a text is refused
    /// for its grammar exactly when `PlainJSON`, which knows nothing but the grammar, refuses it.
    static let json = FuzzTarget(name: "json", maximumLength: 2048) { input throws(Finding) in
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONReader.parse(input, limits: JSONLimits(maximumBytes: 2048, maximumDepth: 16))
        } catch {
            try hold((0...input.count).contains(error.offset), "a fault at \(error.offset) of \(input.count)")
            switch error.reason {
            case .unexpectedEnd, .unexpectedByte, .trailingComma, .trailingData, .invalidNumber, .invalidEscape,
                .controlCharacter:
                try hold(!PlainJSON.isText(input), "refused (\(error)), though it is JSON: \(shown(input))")
            case .tooLarge, .tooDeep, .byteOrderMark, .loneSurrogate, .invalidUTF8, .duplicateMember: break
            }
            return nil
        }
        try hold(PlainJSON.isText(input), "accepted, though it is not JSON: \(shown(input))")
        let written = JSONWriter.encode(value)
        let wide = JSONLimits(maximumBytes: 65_536, maximumDepth: 16)
        try hold((try? JSONReader.parse(written, limits: wide)) == value, "written again: \(shown(written))")
        try hold(written.allSatisfy { $0 >= 32 && $0 != 127 && $0 != 60 && $0 != 62 }, "unsafe inside HTML")
        let laid = Array(JSONLayout.text(value).utf8)
        try hold((try? JSONReader.parse(laid, limits: wide)) == value, "laid out: \(shown(laid))")
        return input
    }
}

/// The grammar of RFC 8259, bytes beyond ASCII taken as they are.
private struct PlainJSON {
    private var rest: ArraySlice<UInt8>

    static func isText(_ text: [UInt8]) -> Bool {
        var grammar = PlainJSON(rest: text[...])
        grammar.blanks()
        guard grammar.value() else { return false }
        grammar.blanks()
        return grammar.rest.isEmpty
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard rest.first == byte else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func blanks() {
        rest = rest.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
    }

    private mutating func value() -> Bool {
        switch rest.first {
        case UInt8(ascii: "{"):
            list(UInt8(ascii: "{"), UInt8(ascii: "}")) { grammar in
                guard grammar.string() else { return false }
                grammar.blanks()
                guard grammar.take(UInt8(ascii: ":")) else { return false }
                grammar.blanks()
                return grammar.value()
            }
        case UInt8(ascii: "["): list(UInt8(ascii: "["), UInt8(ascii: "]")) { $0.value() }
        case UInt8(ascii: "\""): string()
        case UInt8(ascii: "t"): word("true")
        case UInt8(ascii: "f"): word("false")
        case UInt8(ascii: "n"): word("null")
        default: number()
        }
    }

    private mutating func list(_ open: UInt8, _ close: UInt8, _ element: (inout PlainJSON) -> Bool) -> Bool {
        guard take(open) else { return false }
        blanks()
        if take(close) { return true }
        while true {
            guard element(&self) else { return false }
            blanks()
            if take(close) { return true }
            guard take(UInt8(ascii: ",")) else { return false }
            blanks()
        }
    }

    private mutating func word(_ word: String) -> Bool {
        guard rest.starts(with: word.utf8) else { return false }
        rest = rest.dropFirst(word.utf8.count)
        return true
    }

    private mutating func digits() -> Int {
        let count = rest.prefix { (0x30...0x39).contains($0) }.count
        rest = rest.dropFirst(count)
        return count
    }

    private mutating func number() -> Bool {
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) {
            guard digits() > 0 else { return false }
        }
        if take(UInt8(ascii: ".")), digits() == 0 { return false }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            return digits() > 0
        }
        return true
    }

    private mutating func string() -> Bool {
        guard take(UInt8(ascii: "\"")) else { return false }
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return true
            case 0..<0x20: return false
            case UInt8(ascii: "\\"):
                guard let escape = rest.popFirst() else { return false }
                if escape == UInt8(ascii: "u") {
                    let digits = rest.prefix(4)
                    guard digits.count == 4, digits.allSatisfy({ Hexadecimal.value(of: $0) != nil }) else {
                        return false
                    }
                    rest = rest.dropFirst(4)
                } else if !"\"\\/bfnrt".utf8.contains(escape) {
                    return false
                }
            default: continue
            }
        }
        return false
    }
}
