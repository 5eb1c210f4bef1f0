/// Makes one part of a name from a browser safe to show and store.
package enum DisplayName {
    /// The longest part kept, in characters (grapheme clusters); scalars are bounded too, since one character may have
    /// any number of combining marks.
    package static let maximumCharacters = 100
    package static let maximumScalars = 400

    /// Removes control characters, line separators, bidirectional overrides and other invisible format characters (the
    /// joiners U+200C and U+200D stay: Persian and Indic names need them), trims white space, and bounds the length;
    /// nil when nothing visible is left.
    package static func sanitize(_ text: String) -> String? {
        if let name = plain(text) { return name }
        var kept = String.UnicodeScalarView()
        for scalar in text.unicodeScalars where !isRemoved(scalar) { kept.append(scalar) }
        var name = trimmed(String(kept))[...]
        var scalars = 0
        var end = name.startIndex
        for (count, index) in name.indices.enumerated() {
            scalars += name[index].unicodeScalars.count
            guard count < maximumCharacters, scalars <= maximumScalars else { break }
            end = name.index(after: index)
        }
        name = name[..<end]
        let result = trimmed(String(name))
        return result.unicodeScalars.contains(where: isVisible) ? result : nil
    }

    /// A fast path for a short name of printable ASCII without surrounding blanks, which stays as it is; nil for any
    /// other.
    private static func plain(_ text: String) -> String? {
        let bytes = text.utf8.span
        guard (1...maximumCharacters).contains(bytes.count), bytes[0] != 0x20, bytes[bytes.count - 1] != 0x20 else {
            return nil
        }
        for index in bytes.indices where !(0x20...0x7E).contains(bytes[index]) { return nil }
        return text
    }

    private static func isRemoved(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate: true
        case .format: scalar != "\u{200C}" && scalar != "\u{200D}"
        default: false
        }
    }

    /// Fillers, joiners and variation selectors (Unicode: "default ignorable") and the blank Braille pattern stay next
    /// to other letters, but are not a name by themselves: it would look empty.
    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        let properties = scalar.properties
        return !properties.isWhitespace && properties.generalCategory != .format
            && !properties.isDefaultIgnorableCodePoint && scalar != "\u{2800}"
    }

    private static func trimmed(_ text: String) -> String {
        let scalars = text.unicodeScalars
        guard let first = scalars.firstIndex(where: { !$0.properties.isWhitespace }),
            let last = scalars.lastIndex(where: { !$0.properties.isWhitespace })
        else { return "" }
        return String(scalars[first...last])
    }
}
