import Testing

@testable import RelyingParty

/// Which names count as one when passwords are tried.
@Suite struct CountedNameTests {
    @Test(
        "spellings that some verifier takes for one name are one",
        arguments: [
            [
                "alice", "Alice", "ALICE", " alice ", "ali ce", "alice\u{200B}", "\u{2060}al\u{AD}ice", "álice",
                "a\u{301}lice",
            ],
            ["sarah", "\u{17F}arah", "Sarah", "şarah", "SARAH\u{FE0F}"],
            ["strasse", "straße", "STRASSE", "strassé"],
            ["émile@example.com", "e\u{301}mile@example.com", "emile@example.com", "ÉMILE@EXAMPLE.COM"],
            ["jose", "josé", "jos\u{65}\u{301}", "JOS\u{C9}", "ɉose".replacing("ɉ", with: "j")],
            ["istanbul", "İstanbul", "ıstanbul"],
            ["king", "\u{212A}ing"],
        ])
    func oneName(_ spellings: [String]) {
        #expect(Set(spellings.map { CountedName($0) }).count == 1, "\(spellings.map { CountedName($0) })")
    }

    @Test(
        "other names are other names",
        arguments: [
            ["alice", "alicf", "alice1", "alice.", "alice@a", "alice@b"], ["王伟", "李娜", "王芳"], ["анна", "инна"],
            ["김민준", "김민서"], ["สมชาย", "คำ", "ทำ"], ["æ", "a", "ae"],
        ])
    func otherNames(_ names: [String]) {
        #expect(Set(names.map { CountedName($0) }).count == names.count, "\(names.map { CountedName($0) })")
    }

    @Test(
        "forms in which a name can be written many ways count as one",
        arguments: ["ａlice", "𝐚lice", "ⓐlice", "ﷺ", "и\u{306}ван", "\u{1100}\u{1161}", "α\u{301}"])
    func odd(_ name: String) {
        #expect(CountedName(name) == .odd)
    }
}
