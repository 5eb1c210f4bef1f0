/// Repairs pasted text: editors, terminals and environments add marks, quotes, blanks and line ends, or lose them. Only
/// where no other meaning is possible; the reader of the text judges the result.
package enum PastedText {
    /// Text as UTF-8 without a byte order mark. UTF-16 counts only with its mark, and if nothing but text is in it.
    package static func utf8(_ bytes: [UInt8]) -> [UInt8] {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return Array(bytes.dropFirst(3)) }
        let isLittle = bytes.starts(with: [0xFF, 0xFE])
        guard isLittle || bytes.starts(with: [0xFE, 0xFF]), bytes.count.isMultiple(of: 2) else { return bytes }
        let units = stride(from: 2, to: bytes.count, by: 2).map { index in
            let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
            return isLittle ? second << 8 | first : first << 8 | second
        }
        guard let text = String(validating: units, as: UTF16.self),
            text.unicodeScalars.allSatisfy({ $0 == "\t" || $0 == "\n" || $0 == "\r" || !isControl($0) })
        else { return bytes }
        return Array(text.utf8)
    }

    /// One value: without the blanks, line ends and marks around it, and without one pair of quotes.
    package static func value(_ text: String) -> String {
        let inner = trimmed(text)
        guard inner.utf8.count >= 2, let quote = inner.first, quote == "\"" || quote == "'", inner.last == quote,
            !inner.dropFirst().dropLast().contains(quote)
        else { return inner }
        return trimmed(String(inner.dropFirst().dropLast()))
    }

    /// Without the blanks, line ends and invisible marks around it.
    package static func trimmed(_ text: String) -> String {
        let scalars = text.unicodeScalars
        guard let first = scalars.firstIndex(where: { !isBlank($0) }),
            let last = scalars.lastIndex(where: { !isBlank($0) })
        else { return "" }
        return first == scalars.startIndex && scalars.index(after: last) == scalars.endIndex
            ? text : String(scalars[first...last])
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool { scalar.properties.generalCategory == .control }

    /// White space, and what has no width: U+200B and U+FEFF.
    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace || scalar == "\u{200B}" || scalar == "\u{FEFF}"
    }

    private static let (begin, end, dashes) = ("-----BEGIN ", "-----END ", "-----")
    private static let columns = 64

    /// PEM with the lines of RFC 7468 §2, whatever became of them: lost, indented, with CR, or written as `\n`. Text
    /// outside the blocks has no meaning there, quotes included, and is left out. A block without an end, and headers
    /// (RFC 1421), stay as they are.
    package static func pem(_ bytes: [UInt8]) -> [UInt8] {
        guard let text = String(validating: utf8(bytes), as: UTF8.self) else { return bytes }
        return Array(pem(text).utf8)
    }

    package static func pem(_ text: String) -> String {
        let text = text.replacing("\\r", with: "").replacing("\\n", with: "\n")
        var rest = text[...]
        var blocks = ""
        while let start = rest.firstRange(of: begin) {
            let head = rest[start.upperBound...]
            guard let close = head.firstRange(of: dashes), !head[..<close.lowerBound].contains(where: \.isNewline)
            else {
                // No label: leave it to the reader.
                return text
            }
            let label = head[..<close.lowerBound]
            guard let finish = head[close.upperBound...].firstRange(of: "\(end)\(label)\(dashes)") else {
                return blocks + rest[start.lowerBound...]
            }
            blocks += "\(begin)\(label)\(dashes)\n" + body(head[close.upperBound..<finish.lowerBound])
            blocks += "\(end)\(label)\(dashes)\n"
            rest = head[finish.upperBound...]
        }
        return blocks.isEmpty ? text : blocks
    }

    private static func body(_ text: Substring) -> String {
        if text.contains(":") {
            // Headers end at an empty line.
            let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).dropFirst()
            return lines.map { trimmed(String($0)) }.joined(separator: "\n") + (lines.last?.isEmpty == true ? "" : "\n")
        }
        var characters = String.UnicodeScalarView()
        for scalar in text.unicodeScalars where !isBlank(scalar) { characters.append(scalar) }
        var lines = ""
        var rest = String(characters)[...]
        while !rest.isEmpty {
            lines += rest.prefix(columns) + "\n"
            rest = rest.dropFirst(columns)
        }
        return lines
    }
}
