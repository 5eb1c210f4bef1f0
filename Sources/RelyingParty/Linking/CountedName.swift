/// A username as its tries are counted: spellings that some verifier treats as one name are counted as one. Only for
/// counting; the verifier gets the name as it was typed.
///
/// Verifiers fold names by case, by NFC or NFKC, by dropping invisible characters, or by a database collation that
/// ignores accents. Otherwise an attacker could reach one account under many spellings and have fresh tries with each.
/// This folds too much rather than too little: at worst somebody with a similar name waits.
enum CountedName: Hashable {
    /// The remaining letters and digits.
    case folded(String)
    /// Compatibility forms, or unnecessary decomposition (NFD). Hardly anybody types a name that way, and there are
    /// many ways to do it, so all such names count as one.
    case odd

    init(_ name: String) {
        var folded = String.UnicodeScalarView()
        // Upper case first: it splits what lower case leaves (ſ and s, ß and ss, ﬁ and fi).
        for scalar in name.uppercased().lowercased().unicodeScalars {
            if scalar.isASCII {
                if !scalar.properties.isWhitespace { folded.append(scalar) }
                continue
            }
            let properties = scalar.properties
            if properties.isDefaultIgnorableCodePoint || properties.isWhitespace { continue }
            if Self.isConjoiningJamo(scalar) || properties.changesWhenNFKCCaseFolded && !Self.isTyped(scalar) {
                self = .odd
                return
            }
            switch properties.generalCategory {
            case .nonspacingMark, .enclosingMark:
                // An accent on a letter that may have been composed with it.
                if Self.isDiacritic(scalar), folded.last.map({ !$0.isASCII }) ?? false {
                    self = .odd
                    return
                }
            default: folded.append(Self.latinBase(of: properties) ?? scalar)
            }
        }
        self = .folded(String(folded))
    }

    /// The input of the keyed hash.
    var bytes: [UInt8] {
        switch self {
        case .folded(let text): [0] + Array(text.utf8)
        case .odd: [1]
        }
    }

    /// The letter without accents, by the scalar's name: `LATIN SMALL LETTER E WITH ACUTE` is an e.
    private static func latinBase(of properties: Unicode.Scalar.Properties) -> Unicode.Scalar? {
        guard let words = properties.name?.split(separator: " "), words.count >= 4, words[0] == "LATIN",
            words[2] == "LETTER", words[3].utf8.count == 1
        else { return nil }
        return words[3].lowercased().unicodeScalars.first
    }

    private static func isDiacritic(_ scalar: Unicode.Scalar) -> Bool { (0x0300...0x036F).contains(scalar.value) }

    /// The vowel am of Thai and Lao, which everybody types this way.
    private static func isTyped(_ scalar: Unicode.Scalar) -> Bool { scalar == "\u{0E33}" || scalar == "\u{0EB3}" }

    /// The parts of Korean syllables, which are typed as syllables.
    private static func isConjoiningJamo(_ scalar: Unicode.Scalar) -> Bool { (0x1100...0x11FF).contains(scalar.value) }
}
