import Coding
import Testing

/// What editors, terminals and environments make of a text, taken as it was meant.
@Suite struct PastedTextTests {
    @Test(
        arguments: [
            ("plain", "plain"), (" \t plain \r\n", "plain"), ("\u{FEFF}plain", "plain"), ("plain\u{200B}\n", "plain"),
            ("\"plain\"", "plain"), ("'plain'\n", "plain"), ("\" plain \"", "plain"), ("\u{A0}plain", "plain"),
            // A single quote, other quotes inside, and quotes of two entries mean something.
            ("\"plain", "\"plain"), ("plain'", "plain'"), ("\"a\",\"b\"", "\"a\",\"b\""), ("\"it's\"", "it's"),
            ("\"", "\""), ("\"\"", ""), (" \n", ""), ("a b", "a b"),
        ])
    func value(text: String, meant: String) {
        #expect(PastedText.value(text) == meant)
    }

    @Test func byteOrderMarksAreRemoved() {
        #expect(PastedText.utf8([0xEF, 0xBB, 0xBF, 0x7B]) == [0x7B])
        #expect(PastedText.utf8([0xFF, 0xFE, 0x7B, 0, 0xE9, 0]) == Array("{é".utf8))
        #expect(PastedText.utf8([0xFE, 0xFF, 0, 0x7B]) == [0x7B])
        // Not text: as it is.
        for bytes: [UInt8] in [[], [0xFF, 0xFE, 0x7B], [0xFF, 0xFE, 0, 0xD8], [0xFF, 0xFE, 1, 0], [0xEF, 0xBB]] {
            #expect(PastedText.utf8(bytes) == bytes)
        }
    }

    private static let body = String(repeating: "MIGHAgEAMBMGByqG", count: 10)
    private static let whole = """
        -----BEGIN PRIVATE KEY-----
        \(body.prefix(64))
        \(body.dropFirst(64).prefix(64))
        \(body.dropFirst(128))
        -----END PRIVATE KEY-----

        """

    @Test(arguments: [
        "%", "\u{FEFF}%", " \n%\n ", "\"%\"", "some words\n%", "key: '%',",
    ])
    func blockIsFound(around: String) {
        #expect(PastedText.pem(around.replacing("%", with: Self.whole)) == Self.whole)
    }

    @Test(arguments: [
        ("\n", " "), ("\n", ""), ("\n", "\r\n"), ("\n", "\\n"), ("\n", "\\r\\n"), ("\n", "\n    "), ("\n", "\n\n"),
        ("\n-----END", "-----END"), ("-----\n", "----- \t"),
    ])
    func linesAreRestored(line: String, become: String) {
        #expect(PastedText.pem(Self.whole.replacing(line, with: become)) == Self.whole)
    }

    @Test func severalBlocksHeadersAndInvalidTextStay() {
        let chain = Self.whole + Self.whole.replacing("PRIVATE KEY", with: "CERTIFICATE")
        #expect(PastedText.pem(chain.replacing("\n", with: "")) == chain)
        // RFC 1421 §4.6: headers, then an empty line.
        let text = "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END EC PRIVATE KEY-----\n"
        #expect(PastedText.pem(text) == text)
        #expect(PastedText.pem(text.replacing("\n", with: "\r\n")) == text)
        #expect(PastedText.pem([0x30, 0x82, 0xFF]) == [0x30, 0x82, 0xFF])
    }

    @Test(arguments: [
        "", "no key", "-----BEGIN PRIVATE KEY-----\nAAAA\n", "-----BEGIN PRIV\nATE KEY-----", "-----BEGIN ",
    ])
    func textWithoutAPEMBlockStays(text: String) {
        #expect(PastedText.pem(text) == text)
    }
}
