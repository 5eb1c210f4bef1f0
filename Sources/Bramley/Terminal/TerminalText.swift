/// Text for a terminal: made safe, and its width in columns.
package enum TerminalText {
    /// The text with `\uXXXX` or `\u{XXXXX}` for what controls a terminal, starts a line, hides, or changes the reading
    /// direction. The joiners U+200C and U+200D stay: Persian and Indic names need them.
    package static func safe(_ text: String) -> String {
        let escaped = LogEscaping.escaped(text)
        guard escaped.unicodeScalars.contains(where: isHidden) else { return escaped }
        var result = ""
        for scalar in escaped.unicodeScalars {
            if isHidden(scalar) {
                result += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        guard scalar.value > 0x7E, scalar.properties.generalCategory == .format else { return false }
        return scalar != "\u{200C}" && scalar != "\u{200D}"
    }

    /// The columns of a safe text: two for East Asian wide characters and emoji, none for combining marks, else one.
    package static func width(_ text: String) -> Int { text.unicodeScalars.reduce(0) { $0 + width(of: $1) } }

    static func width(of scalar: Unicode.Scalar) -> Int {
        let value = scalar.value
        if value < 0x300 { return value == 0xAD ? 0 : 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        // Vowels and finals of Hangul syllables written in parts.
        if (0x1160...0x11FF).contains(value) || (0xD7B0...0xD7FF).contains(value) { return 0 }
        // Two letters make a flag.
        if (0x1F1E6...0x1F1FF).contains(value) { return 1 }
        return isWide(value) || scalar.properties.isEmojiPresentation ? 2 : 1
    }

    /// East Asian Width W and F (UAX #11), except emoji, which have their own property.
    private static func isWide(_ value: UInt32) -> Bool {
        switch value {
        case 0..<0x1100: false
        case 0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x3247, 0x3250...0x4DBF, 0x4E00...0xA4CF,
            0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60,
            0xFFE0...0xFFE6, 0x16FE0...0x18D08, 0x1AFF0...0x1B2FF, 0x1F200...0x1F265, 0x20000...0x3FFFD:
            true
        default: false
        }
    }

    /// The beginning of a safe text that fits, with `…` where something is omitted.
    package static func cut(_ text: String, to columns: Int) -> String {
        guard width(text) > columns else { return text }
        var result = ""
        var used = 0
        for character in text {
            let width = width(String(character))
            guard used + width <= columns - 1 else { break }
            result.append(character)
            used += width
        }
        return columns > 0 ? result + "…" : ""
    }

    /// Between two left-to-right marks if any of it is right-to-left, so that a terminal reorders nothing around it.
    package static func fenced(_ text: String) -> String {
        text.unicodeScalars.contains { isRightToLeft($0.value) } ? "\u{200E}\(text)\u{200E}" : text
    }

    private static func isRightToLeft(_ value: UInt32) -> Bool {
        switch value {
        case 0x0590...0x08FF, 0xFB1D...0xFDFF, 0xFE70...0xFEFE, 0x10800...0x10FFF, 0x1E800...0x1EFFF: true
        default: false
        }
    }

    /// A command, which is copied: `wrapped` leaves it on one line.
    package static func whole(_ command: String) -> String { command.replacing(" ", with: "\u{A0}") }

    /// Broken between words; further lines are indented to the first word. A wider word, as an address, stays whole.
    package static func wrapped(_ text: String, to columns: Int) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            guard width(String(line)) > columns else { return String(line) }
            let indent = String(line.prefix { $0 == " " })
            var lines: [String] = []
            for word in line.split(separator: " ") {
                if let last = lines.last, width(last) + 1 + width(String(word)) <= columns {
                    lines[lines.count - 1] = "\(last) \(word)"
                } else {
                    lines.append(indent + word)
                }
            }
            return lines.joined(separator: "\n")
        }.joined(separator: "\n").replacing("\u{A0}", with: " ")
    }
}
