/// The words by which a person's name is found: in small letters, those of Latin scripts without accents, so that
/// "jurgen" finds "Jürgen". A search names beginnings of words, and all of them must be there.
package enum SearchWords {
    /// Words of one name that are looked at, and characters of one word.
    private static let most = 8
    private static let longest = 64

    /// The different words of a name.
    package static func words(of name: PersonName) -> Set<String> {
        Set(words(of: [name.given, name.family].compactMap(\.self).joined(separator: " ")))
    }

    /// What a search looks for; a word that another one begins with says nothing more, and is left out.
    /// - Returns: nil when the text names everybody, empty when it names nobody: it has no letters.
    package static func query(_ text: String) -> [String]? {
        guard text.contains(where: { !$0.isWhitespace }) else { return nil }
        let words = Set(words(of: text)).sorted()
        return words.filter { word in !words.contains { $0 != word && $0.hasPrefix(word) } }
    }

    /// Whether a name has words that begin with each of these.
    package static func finds(_ query: [String], in name: PersonName) -> Bool {
        let words = words(of: name)
        return !query.isEmpty && query.allSatisfy { wanted in words.contains { $0.hasPrefix(wanted) } }
    }

    private static func words(of text: String) -> [String] {
        var words: [String] = []
        var word = String.UnicodeScalarView()
        // A space at the end closes the last word. By capitals, since "ß" is "SS" there.
        for scalar in (text.uppercased().lowercased() + " ").unicodeScalars {
            guard !isAccent(scalar) else { continue }
            if isOfWord(scalar) {
                if word.count < longest { word.append(folded(scalar)) }
            } else if !word.isEmpty {
                words.append(String(word))
                word = String.UnicodeScalarView()
            }
        }
        return Array(words.prefix(most))
    }

    private static func isOfWord(_ scalar: Unicode.Scalar) -> Bool {
        let properties = scalar.properties
        guard !properties.isAlphabetic, properties.numericType == nil else { return true }
        return [.nonspacingMark, .spacingMark].contains(properties.generalCategory)
    }

    /// Combining Diacritical Marks, which follow their letter.
    private static func isAccent(_ scalar: Unicode.Scalar) -> Bool { (0x300...0x36F).contains(scalar.value) }

    /// The letter of "LATIN SMALL LETTER U WITH DIAERESIS", the names of the Unicode Standard being fixed for ever.
    private static func folded(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        let beginning = "LATIN SMALL LETTER "
        guard (0xE0...0x24F).contains(scalar.value) || (0x1E00...0x1EFF).contains(scalar.value),
            let rest = scalar.properties.name?.dropFirst(beginning.count), rest.dropFirst().hasPrefix(" WITH "),
            let letter = rest.unicodeScalars.first
        else { return scalar }
        return letter.properties.lowercaseMapping.unicodeScalars.first ?? scalar
    }
}
