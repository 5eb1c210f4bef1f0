import Testing

@testable import Accounts

@Suite struct SearchWordsTests {
    @Test(
        "a name is found by beginnings of its words, in any case and without accents",
        arguments: [
            ("Jürgen", "Dürr", "JURGEN durr"), ("Jürgen", "Dürr", "jür"), ("Chloé", "García López", "lop chloe"),
            ("Søren", "Ærø", "soren"), ("Łukasz", "Żółć", "zolc lukasz"), ("Nguyễn", "Văn Ộ", "nguyen o"),
            ("花子", "山田", "山田"), ("Анна", "Ёлкина", "анна"), ("Straße", "", "strasse"),
            ("Anne-Marie", "O’Neil", "marie"),
            ("İpek", "Işık", "ipek isik"), ("Ann", "Berg 4711", "4711"), ("e\u{301}lan", "", "elan"),
        ])
    func finds(given: String, family: String, text: String) throws {
        let name = PersonName(given: given, family: family)
        #expect(SearchWords.finds(try #require(SearchWords.query(text)), in: name))
    }

    @Test(
        "neither the middle of a word nor an absent word matches",
        arguments: ["rgen", "jurgen smith", "jurgenx", "!", "%", "_"])
    func findsNot(text: String) throws {
        #expect(
            !SearchWords.finds(try #require(SearchWords.query(text)), in: PersonName(given: "Jürgen", family: "Dürr")))
    }

    @Test func emptySearchMatchesEveryone() {
        #expect(SearchWords.query("") == nil)
        #expect(SearchWords.query(" \t") == nil)
    }

    @Test func prefixOfAnotherWordIsDropped() {
        #expect(SearchWords.query("ann an Anna") == ["anna"])
    }

    @Test func longNamesHaveFewShortWords() {
        let name = PersonName(given: String(repeating: "x", count: 300), family: String(repeating: "ab ", count: 100))
        #expect(SearchWords.words(of: name) == [String(repeating: "x", count: 64), "ab"])
    }
}
