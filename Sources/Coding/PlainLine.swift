/// One line of plain text that people write: the name of a group, a client or an API key, an application's id.
package enum PlainLine {
    /// Whether the text has 1 to `maximum` bytes of UTF-8 and no control characters.
    package static func accepts(_ text: String, maximum: Int) -> Bool {
        (1...maximum).contains(text.utf8.count) && isPlain(text)
    }

    /// Whether the text has no control characters.
    package static func isPlain(_ text: String) -> Bool {
        !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }

    /// Whether the text is also a name, which a form and `list` return unchanged: it has no line separator, and no
    /// space at either end.
    package static func acceptsName(_ text: String, maximum: Int) -> Bool {
        accepts(text, maximum: maximum) && !text.unicodeScalars.contains(where: endsLine)
            && ![text.unicodeScalars.first, text.unicodeScalars.last].contains { $0?.properties.isWhitespace ?? true }
    }

    /// Others' text as it may stand on our pages: without what breaks a line, or reorders what is around it, and cut.
    package static func shown(_ text: String, maximum: Int = 200) -> String {
        let scalars = text.unicodeScalars.filter { scalar in
            let properties = scalar.properties
            return properties.generalCategory != .control && !properties.isBidiControl && !endsLine(scalar)
        }
        let whole = String(String.UnicodeScalarView(scalars))
        return whole.count > maximum ? whole.prefix(maximum) + "…" : whole
    }

    /// Names separated by commas or by the ends of lines, without what is empty or repeated.
    package static func list(_ text: String) -> [String] { split(text) { $0 == "," || endsLine($0) } }

    /// Texts of a line each, without what is empty or repeated.
    package static func lines(_ text: String) -> [String] { split(text, by: endsLine) }

    /// By code points: a combining mark after a comma would hide it from `Character`.
    private static func split(_ text: String, by isSeparator: (Unicode.Scalar) -> Bool) -> [String] {
        var found: [String] = []
        for part in text.unicodeScalars.split(whereSeparator: isSeparator) {
            let word = part.trimmingPrefix { $0.properties.isWhitespace }
            let end = word.lastIndex { !$0.properties.isWhitespace }
            guard let end else { continue }
            let name = String(word[...end])
            if !found.contains(where: { $0.isExactly(name) }) { found.append(name) }
        }
        return found
    }

    /// Unicode's mandatory breaks (UAX #14, BK, CR, LF and NL).
    private static func endsLine(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x0A...0x0D, 0x85, 0x2028, 0x2029: true
        default: false
        }
    }
}

extension String {
    /// Whether it is all visible ASCII: neither blanks nor control characters.
    package var isVisibleASCII: Bool { utf8.allSatisfy { (0x21...0x7E).contains($0) } }
}
