import ChildProcesses
import Foundation
import Testing

@testable import Bramley

@Suite struct TerminalTextTests {
    @Test(arguments: [
        ("李雷", 4), ("Ann", 3), ("", 0), ("e\u{301}", 1), ("한글", 4), ("ﾊﾝ", 2), ("Ａ", 2), ("🙂", 2), ("שלום", 4),
        ("\u{1112}\u{1161}\u{11AB}", 2), ("นี้", 1), ("a\u{200D}b", 2), ("𠀋", 2), ("ß", 1), ("…", 1), ("👍🏽", 4),
    ])
    func columnsAreThoseOfATerminal(text: String, columns: Int) {
        #expect(TerminalText.width(text) == columns)
    }

    @Test(arguments: [
        ("one two three", 7, "one two\nthree"), ("one two three", 13, "one two three"), ("", 4, ""),
        ("    one two", 8, "    one\n    two"),
        ("see https://id.example.com/path now", 10, "see\nhttps://id.example.com/path\nnow"),
        ("李雷 李雷", 8, "李雷\n李雷"), ("a b\n\nc d", 1, "a\nb\n\nc\nd"), ("  x    y", 9, "  x    y"),
        ("  1. Run: \(TerminalText.whole("a --b c")) now", 13, "  1. Run:\n  a --b c now"),
        ("  1. Run: \(TerminalText.whole("a --b c"))", 80, "  1. Run: a --b c"),
    ])
    func linesAreBrokenBetweenWords(text: String, columns: Int, wrapped: String) {
        #expect(TerminalText.wrapped(text, to: columns) == wrapped)
    }

    /// Python's own tables (Unicode's EastAsianWidth and categories) have the last word, emoji aside.
    @Test func widthsAgreeWithUnicode() throws {
        let script = """
            import unicodedata as u
            for c in range(0x300, 0x30000):
                k = u.category(chr(c))
                # U+1171E changed its category between versions of Unicode.
                if k in ('Cn', 'Cs', 'Co', 'Cc') or c == 0x1171e: continue
                zero = k in ('Mn', 'Me', 'Cf') or 0x1160 <= c <= 0x11ff or 0xd7b0 <= c <= 0xd7ff
                print(c, 0 if zero else 2 if u.east_asian_width(chr(c)) in 'WF' else 1)
            """
        let python = try FinishedProgram(running: ["python3", "-c", script])
        try #require(python.succeeded, "\(python.errorText)")
        var compared = 0
        var wrong: [String] = []
        for line in python.outputText.split(separator: "\n") {
            let numbers = line.split(separator: " ").compactMap { UInt32($0) }
            guard numbers.count == 2, let scalar = Unicode.Scalar(numbers[0]) else { continue }
            compared += 1
            if TerminalText.width(of: scalar) != Int(numbers[1]) { wrong.append(String(numbers[0], radix: 16)) }
        }
        #expect(compared > 90_000)
        #expect(wrong == [])
    }

    @Test(arguments: [
        ("admin", "admin"), ("a\u{1B}[31m", "a\\u001b[31m"), ("a\nb", "a\\u000ab"), ("a\tb", "a\\u0009b"),
        ("\u{202E}nimda", "\\u202enimda"), ("zero\u{200B}width", "zero\\u{200b}width"),
        ("tag\u{E0041}", "tag\\u{e0041}"), ("soft\u{AD}", "soft\\u{ad}"),
        ("نام\u{200C}خانوادگی", "نام\u{200C}خانوادگی"),
    ])
    func controlSequencesAreShown(text: String, shown: String) {
        #expect(TerminalText.safe(text).utf8.elementsEqual(shown.utf8))
    }

    @Test func noScalarOfUnicodeControlsTheTerminal() {
        for value in UInt32(0)...0x10FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let category = scalar.properties.generalCategory
            guard category == .control || category == .format || scalar.properties.isBidiControl else { continue }
            guard value != 0x200C, value != 0x200D else { continue }
            let shown = TerminalText.safe(String(scalar))
            #expect(shown.utf8.allSatisfy { (0x20...0x7E).contains($0) }, "U+\(String(value, radix: 16))")
        }
    }

    @Test(arguments: [
        ("Ann", 3, "Ann"), ("Anna", 3, "An…"), ("李雷", 4, "李雷"), ("李雷", 3, "李…"), ("李雷", 2, "…"), ("a", 0, ""),
        ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"),
    ])
    func cutsBetweenCharacters(text: String, columns: Int, shown: String) {
        let cut = TerminalText.cut(text, to: columns)
        #expect(cut == shown)
        #expect(TerminalText.width(cut) <= columns)
    }
}

@Suite struct TextTableTests {
    static let people = TextTable(
        [
            .init("ID"), .init("NAME", flexible: true), .init("GROUPS", flexible: true, optional: true),
            .init("AGE", optional: true),
        ],
        rows: [
            ["usr_1", "李雷", "staff", "30"],
            ["usr_2", "admin", nil, "7"],
            ["usr_3", "\u{1B}]0;owned\u{07}", "a,b", nil],
            ["usr_4", "שלום עולם", "ops", "41"],
            ["usr_5", "A very long name that never ends", "x", "1"],
        ])

    @Test func alignsByColumnsNotByCharacters() {
        #expect(
            Self.people.render(.terminal(width: 100, bold: false)) == """
                ID     NAME                              GROUPS  AGE
                usr_1  李雷                              staff   30
                usr_2  admin                             -       7
                usr_3  \\u001b]0;owned\\u0007              a,b     -
                usr_4  \u{200E}שלום עולם\u{200E}                         ops     41
                usr_5  A very long name that never ends  x       1

                """)
    }

    @Test func leavesOutWholeColumnsThenCutsNames() {
        #expect(
            Self.people.render(.terminal(width: 29, bold: false)) == """
                ID     NAME            GROUPS
                usr_1  李雷            staff
                usr_2  admin           -
                usr_3  \\u001b]0;owne…  a,b
                usr_4  \u{200E}שלום עולם\u{200E}       ops
                usr_5  A very long n…  x

                """)
        #expect(Self.people.hidden(.terminal(width: 29, bold: false)) == ["AGE"])
    }

    @Test(
        "Columns go from the right, and a name keeps ten letters",
        arguments: [
            (52, []), (30, []), (29, ["AGE"]), (25, ["AGE"]), (24, ["GROUPS", "AGE"]), (17, ["GROUPS", "AGE"]),
        ])
    func leavesOut(width: Int, hidden: [String]) {
        let style = TextTable.Style.terminal(width: width, bold: false)
        #expect(Self.people.hidden(style) == hidden)
        let lines = Self.people.render(style).split(separator: "\n").map(String.init)
        #expect(lines[5].hasPrefix("usr_5  A very lo"))
        #expect(lines.allSatisfy { TerminalText.width($0) <= width })
    }

    @Test func aColumnWithoutValuesGoesFirst() {
        var table = Self.people
        table.rows = table.rows.map { [$0[0], $0[1], nil, $0[3]] }
        #expect(table.hidden(.terminal(width: 29, bold: false)) == ["GROUPS"])
    }

    @Test func pipesAndEmptyTablesHideNothing() {
        #expect(Self.people.hidden(.piped) == [])
        #expect(TextTable(Self.people.columns).hidden(.terminal(width: 10, bold: false)) == [])
    }

    @Test func longNameDoesNotHideOtherColumns() {
        var table = Self.people
        table.rows.append(["usr_6", String(repeating: "x", count: 400), "staff", "2"])
        let text = table.render(.terminal(width: 70, bold: false))
        #expect(text.contains("GROUPS") && text.contains("AGE"))
        #expect(text.split(separator: "\n").allSatisfy { TerminalText.width(String($0)) <= 70 })
    }

    /// Each line of a terminal's table is as wide as it may be, whatever stands in it.
    @Test func neverWiderThanTheTerminal() {
        for width in 11...120 {
            for line in Self.people.render(.terminal(width: width, bold: false)).split(separator: "\n") {
                #expect(TerminalText.width(String(line)) <= width)
            }
        }
    }

    @Test func setsTitlesOff() {
        let table = TextTable([.init("A")], rows: [["1"]])
        #expect(table.render(.terminal(width: 80, bold: true)) == "\u{1B}[1mA\u{1B}[0m\n1\n")
        #expect(TextTable([.init("A")]).render(.terminal(width: 80, bold: true)) == "")
    }

    @Test func pipesOneRowALineAndNothingElse() {
        #expect(
            Self.people.render(.piped) == """
                usr_1\t李雷\tstaff\t30
                usr_2\tadmin\t\t7
                usr_3\t\\u001b]0;owned\\u0007\ta,b\t
                usr_4\tשלום עולם\tops\t41
                usr_5\tA very long name that never ends\tx\t1

                """)
    }

    @Test(
        arguments: [
            ("yes", nil, true), (" yes \r", nil, true), ("yes", "usr_1", true), ("usr_1", "usr_1", true),
            ("y", nil, false), ("YES", nil, false), ("", nil, false), ("", "", false), ("usr_2", "usr_1", false),
            ("no", nil, false),
            ("yes yes", nil, false),
        ] as [(String, String?, Bool)])
    func onlyYesConfirms(answer: String, id: String?, agrees: Bool) {
        #expect(ConfirmationOptions.agrees(answer, id: id) == agrees)
    }

    @Test(arguments: [
        (
            50_000, 5_000_000, 10_000_000 as Int?, 10, 60,
            "[#########          ]  50 %  50000 lines  5000/s  0:10 left"
        ),
        (0, 0, 100, 0, 60, "[                                     ]   0 %  0 lines  0/s"),
        (10, 100, 100, 2, 60, "[#########################] 100 %  10 lines  5/s  0:00 left"),
        (7, 70, nil, 1, 60, "7 lines  7/s"),
        (10, 100, 100, 2, 20, "100 %  10 lines  5/"),
    ])
    func barShowsProgress(
        lines: Int, bytes: Int, total: Int?, seconds: Int, columns: Int, shown: String
    ) {
        let text = ProgressLine.text(
            count: lines, done: bytes, total: total, elapsed: .seconds(seconds), columns: columns)
        #expect(text == shown)
        #expect(text.utf8.count < columns)
    }

    @Test(arguments: [
        ("reading", 0, 80, "reading  0:00"), ("reading", 65, 80, "reading  1:05"),
        ("reading", 3_600, 80, "reading  60:00"), ("reading", 5, 10, "reading  "),
    ])
    func lineShowsElapsedTime(words: String, seconds: Int, columns: Int, shown: String) {
        #expect(ProgressLine.text(words, elapsed: .seconds(seconds), columns: columns) == shown)
    }
}
