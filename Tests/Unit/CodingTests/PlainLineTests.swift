import Coding
import Testing

@Suite struct PlainLineTests {
    @Test(arguments: [
        "admins", "a b", "Ärzte", "研究", "a.b-c_d", "a\u{A0}b", "x\u{301}", "\u{301}x", "قسم\u{200C}ها",
        String(repeating: "a", count: 64),
    ])
    func namesReadBackAsTheyAre(name: String) {
        #expect(PlainLine.acceptsName(name, maximum: 64))
        #expect(PlainLine.lines(" \(name) \n\(name)").map(Array.init(_:)) == [Array(name)])
        #expect(PlainLine.list("first, \(name)").map { Array($0.utf8) } == [Array("first".utf8), Array(name.utf8)])
    }

    @Test(arguments: [
        "", " ", " admins", "admins ", "\u{A0}admins", "admins\u{3000}", "x\u{2028}admins", "x\u{2029}y", "x\u{85}y",
        "x\u{B}y",
        "x\ny", "x\r\ny", "x\0y", "x\u{7F}", "\tadmins", String(repeating: "a", count: 65), "\u{2028}",
    ])
    func namesThatWouldChangeAreRefused(text: String) {
        #expect(!PlainLine.acceptsName(text, maximum: 64))
    }

    @Test(arguments: [
        ("", []), ("a", ["a"]), ("a,b", ["a", "b"]), (" a ,, b \n c\r\nd", ["a", "b", "c", "d"]), ("a,a", ["a"]),
        ("a\u{2028}b", ["a", "b"]), (",\u{301}x", ["\u{301}x"]), (" , ,", []), ("é,e\u{301}", ["é", "e\u{301}"]),
    ])
    func lists(text: String, names: [String]) {
        #expect(PlainLine.list(text).map { Array($0.utf8) } == names.map { Array($0.utf8) })
    }

    @Test(
        "Others' text reorders nothing on our pages, stays on its line and ends",
        arguments: [
            ("Notes", "Notes"), ("\u{202E}sevraG\u{202C}", "sevraG"), ("a\u{2069}\u{2066}\u{61C}\u{200F}b", "ab"),
            ("a\nb\u{2028}c\0", "abc"), ("قسم\u{200C}ها", "قسم\u{200C}ها"), ("12345678", "12345678"),
            ("123456789", "12345678…"),
        ])
    func shown(text: String, expected: String) {
        #expect(Array(PlainLine.shown(text, maximum: 8).unicodeScalars) == Array(expected.unicodeScalars))
    }

    @Test func aLineKeepsItsCommas() {
        #expect(PlainLine.lines("a,b\n c ") == ["a,b", "c"])
    }
}
