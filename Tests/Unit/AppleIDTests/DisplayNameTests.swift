import AppleID
import Testing

struct DisplayNameTests {
    @Test(arguments: [
        ("Ada", "Ada"),
        ("  Ada \n", "Ada"),
        ("Zoë", "Zoë"),
        ("李", "李"),
        ("O'Brien <b>", "O'Brien <b>"),
        ("A\u{0}d\r\na\u{1B}[31m", "Ada[31m"),
        ("\u{202E}adA\u{202C}", "adA"),
        ("\u{2066}Ada\u{2069}\u{200F}\u{061C}", "Ada"),
        ("Ada\u{2028}Lovelace", "AdaLovelace"),
        ("نیم\u{200C}فاصله", "نیم\u{200C}فاصله"),
    ])
    func keepsNames(text: String, name: String) {
        #expect(DisplayName.sanitize(text).map { Array($0.utf8) } == Array(name.utf8))
    }

    // The last are letters, a mark and a symbol to Unicode, and nothing to the eye.
    @Test(arguments: [
        "", " ", "\u{A0}\u{3000}", "\r\n\t", "\u{202E}\u{202C}", "\u{200D}\u{200C}", "\u{FEFF}", "\u{3164}",
        "\u{115F}\u{1160}", "\u{FFA0} \u{3164}", "\u{34F}", "\u{FE0F}\u{E0100}", "\u{2800}", "\u{2800}\u{3164}\u{200D}",
    ])
    func isNilWhenNothingVisibleIsLeft(text: String) {
        #expect(DisplayName.sanitize(text) == nil)
    }

    @Test func keepsExactlyOneHundredCharacters() {
        let hundred = String(repeating: "é", count: 100)
        #expect(DisplayName.sanitize(hundred) == hundred)
        #expect(DisplayName.sanitize(hundred + "x") == hundred)
        #expect(DisplayName.sanitize(String(repeating: "a", count: 99) + " b") == String(repeating: "a", count: 99))
    }

    @Test func boundsTheMarksOnOneCharacter() {
        let stacked = "a" + String(repeating: "b\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}", count: 90)
        // "a" and 49 characters of eight scalars: the next would be past 400.
        #expect(DisplayName.sanitize(stacked)?.unicodeScalars.count == 393)
    }
}
