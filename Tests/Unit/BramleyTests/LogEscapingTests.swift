import Bramley
import Testing

struct LogEscapingTests {
    @Test(arguments: [
        ("plain text", "plain text"), ("a\r\nb", "a\\u000d\\u000ab"), ("\u{1B}[31mred", "\\u001b[31mred"),
        ("nul\0", "nul\\u0000"), ("del\u{7F}", "del\\u007f"), ("csi\u{9B}31m", "csi\\u009b31m"),
        ("next\u{85}line", "next\\u0085line"),
        ("sep\u{2028}\u{2029}", "sep\\u2028\\u2029"), ("\u{202E}txt.exe", "\\u202etxt.exe"),
        ("\u{2066}x\u{2069}", "\\u2066x\\u2069"),
        ("tab\t", "tab\\u0009"), ("Jürgen 李 🙂", "Jürgen 李 🙂"), ("say \"hi\" \\n", "say \"hi\" \\n"),
    ])
    func escapesCursorMovementsAndLineEnds(text: String, expected: String) {
        #expect(LogEscaping.escaped(text) == expected)
    }

    @Test func noControlCharacterOfUnicodeGetsThrough() {
        for value in UInt32(0)...0x10FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            guard scalar.properties.generalCategory == .control || scalar.properties.isBidiControl else { continue }
            var bytes: [UInt8] = []
            LogEscaping.append(String(scalar), to: &bytes, quoted: true)
            #expect(bytes.allSatisfy { (0x20...0x7E).contains($0) }, "U+\(String(value, radix: 16))")
        }
    }
}
