import Coding
import Testing

@Suite struct JSONReaderTests {
    struct Refusal: Sendable, CustomTestStringConvertible {
        let text: [UInt8]
        let reason: JSONError.Reason
        var testDescription: String { String(decoding: text, as: UTF8.self).debugDescription }

        init(_ text: String, _ reason: JSONError.Reason) {
            self.text = Array(text.utf8)
            self.reason = reason
        }

        init(bytes: [UInt8], _ reason: JSONError.Reason) {
            text = bytes
            self.reason = reason
        }
    }

    private static func refusals(_ reason: JSONError.Reason, _ texts: String...) -> [Refusal] {
        texts.map { Refusal($0, reason) }
    }

    static let grammar =
        ([
            refusals(
                .unexpectedEnd, "", " ", "[", "{", "[1", "[1,", "{\"a\"", "{\"a\":", "{\"a\":1", "\"a", "\"\\",
                "\"\\u00",
                "tru"),
            refusals(.trailingComma, "[1,]", "{\"a\":1,}"),
            refusals(
                .unexpectedByte, "[,1]", "[1,,2]", "[1 2]", "{,}", "{a:1}", "{'a':1}", "{1:1}", "{\"a\" 1}",
                "{\"a\"::1}",
                "{\"a\":1 \"b\":2}", "[1}", "{\"a\":1]", "True", "nulL", "NaN", "Infinity", "'a'", "/* c */1",
                "\u{0C}1",
                "\u{A0}1", "\u{2060}[]"),
            refusals(.trailingData, "[1]//c", "1 1", "{}}", "[]]", "\"a\"\u{0}", "null,"),
            refusals(.byteOrderMark, "\u{FEFF}{}"),
            [
                Refusal(bytes: [0x5B, 0x00, 0x5D], .unexpectedByte),
                Refusal(bytes: [0xFF, 0xFE, 0x5B, 0x00], .unexpectedByte),
                Refusal(bytes: [0x5B, 0xFF, 0x5D], .unexpectedByte),
            ],
        ] as [[Refusal]]).flatMap(\.self)

    static let numbers: [Refusal] = [
        "-", "+1", "01", "-01", "00", "1.", ".5", "-.5", "1.e1", "1e", "1e+", "1E-", "0e", "0x1", "1_0", "1e1.5", "--1",
        "-a", "-Infinity", "1.2.3", "２",
    ].map { Refusal($0, .invalidNumber) }

    static let strings =
        ([
            refusals(.controlCharacter, "\"\n\"", "\"\t\"", "\"\u{0}\"", "\"\\n\u{1F}\""),
            refusals(.invalidEscape, "\"\\x41\"", "\"\\'\"", "\"\\u12G4\"", "\"\\U0041\"", "\"\\\u{0}\""),
            refusals(
                .loneSurrogate, "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\ud800\"", "\"\\ud800\\u0041\"",
                "\"\\ud83d \\ude00\"", "\"\\udbff\\ue000\"", "\"\\ud800\\n\"", "{\"\\uD800\":1}"),
            [
                Refusal(bytes: [0x22, 0x80, 0x22], .invalidUTF8),
                Refusal(bytes: [0x22, 0xC0, 0xAF, 0x22], .invalidUTF8),
                Refusal(bytes: [0x22, 0xE0, 0x80, 0xAF, 0x22], .invalidUTF8),
                Refusal(bytes: [0x22, 0xED, 0xA0, 0x80, 0x22], .invalidUTF8),
                Refusal(bytes: [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], .invalidUTF8),
                Refusal(bytes: [0x22, 0xC3, 0x22], .invalidUTF8),
                Refusal(bytes: [0x22, 0xF8, 0x88, 0x80, 0x80, 0x80, 0x22], .invalidUTF8),
                Refusal(bytes: [0x22, 0xFF, 0x22], .invalidUTF8),
                // Broken UTF-8 around an escape, which takes the other path through the reader.
                Refusal(bytes: [0x22, 0x5C, 0x6E, 0xC3, 0x22], .invalidUTF8),
                Refusal(bytes: [0x22, 0xC3, 0x5C, 0x6E, 0x22], .invalidUTF8),
                Refusal(bytes: [0x7B, 0x22, 0xFF, 0x22, 0x3A, 0x31, 0x7D], .invalidUTF8),
            ],
        ] as [[Refusal]]).flatMap(\.self)

    static let duplicates: [Refusal] = [
        #"{"a":1,"a":1}"#, #"{"a":1,"b":2,"a":3}"#, #"{"alg":"RS256","\u0061lg":"none"}"#, #"{"\u0061":1,"\u0061":2}"#,
        #"[{"x":{"k":1,"k":2}}]"#, #"{"":1,"":2}"#, #"{"/":1,"\/":2}"#, #"{"😀":1,"\ud83d\ude00":2}"#,
    ].map { Refusal($0, .duplicateMember) }

    @Test(arguments: grammar + numbers + strings + duplicates)
    func refuses_whenTheTextIsNotStrictJSON(_ refusal: Refusal) {
        let error = #expect(throws: JSONError.self) { try JSONReader.parse(refusal.text) }
        // "-Infinity" and its like fail at the number; "0x1" is a number with more behind it.
        if refusal.reason == .invalidNumber {
            #expect([.invalidNumber, .trailingData, .unexpectedByte].contains(error?.reason))
        } else {
            #expect(error?.reason == refusal.reason)
        }
    }

    @Test(
        arguments: [
            ("null", JSONValue.null), (" true\n", true), ("\t[ ]\r\n", []), ("{}", [:]), ("0", 0), ("-1", -1),
            (#"[1,"a",null,[{}]]"#, [1, "a", .null, [[:]]]), (#"{"a":{"b":[false]}}"#, ["a": ["b": [false]]]),
            (#""\"\\\/\b\f\n\r\t\u0041""#, "\"\\/\u{08}\u{0C}\n\r\tA"), (#""\ud83d\ude00\uD834\uDD1E""#, "😀𝄞"),
            (#""\u0000""#, "\u{0}"), (#""\ufeff\uffff""#, "\u{FEFF}\u{FFFF}"),
            ("\"\u{7F}é\u{2028}\"", "\u{7F}é\u{2028}"),
            (#"{"a":1,"A":2," a":3}"#, ["a": 1, "A": 2, " a": 3]),
        ] as [(String, JSONValue)])
    func reads_whenTheTextIsJSON(_ text: String, _ value: JSONValue) throws {
        #expect(try JSONReader.parse(Array(text.utf8)) == value)
    }

    /// On both sides of the point where the reader changes from walking the names to a set, and on it.
    @Test(arguments: 1...40)
    func duplicates_areFoundHoweverManyMembersThereAre(_ count: Int) throws {
        let members = (0..<count).map { "\"n\($0)\":0" }
        let whole = try JSONReader.parse(Array("{\(members.joined(separator: ","))}".utf8))
        #expect(whole.objectValue?.count == count)
        for repeated in [0, count / 2, count - 1] {
            let text = "{\((members + [members[repeated]]).joined(separator: ","))}"
            let error = #expect(throws: JSONError.self) { try JSONReader.parse(Array(text.utf8)) }
            #expect(error?.reason == .duplicateMember)
        }
    }

    @Test func names_thatAreOnlyCanonicallyEquivalentAreDistinct() throws {
        // U+212A KELVIN SIGN equals "K" for Swift's ==, and "é" has two spellings.
        let text = "{\"\u{212A}\":1,\"K\":2,\"\u{E9}\":3,\"e\u{301}\":4}"
        let object = try #require(try JSONReader.parse(Array(text.utf8)).objectValue)
        #expect(object.count == 4)
        #expect(object["K"] == 2)
        #expect(object["\u{212A}"] == 1)
        #expect(object["e\u{301}"] == 4)
    }

    @Test(arguments: [UInt8(ascii: "["), UInt8(ascii: "{")])
    func depth_isAllowedAtTheLimitAndRefusedOnePast(_ bracket: UInt8) throws {
        func nested(_ depth: Int) -> [UInt8] {
            bracket == UInt8(ascii: "[")
                ? Array(String(repeating: "[", count: depth).utf8) + Array(String(repeating: "]", count: depth).utf8)
                : Array(String(repeating: "{\"a\":", count: depth).utf8) + [0x31]
                    + Array(String(repeating: "}", count: depth).utf8)
        }
        #expect(throws: Never.self) { try JSONReader.parse(nested(32)) }
        #expect(throws: JSONError.self) { try JSONReader.parse(nested(33)) }
        #expect(throws: Never.self) { try JSONReader.parse(nested(3), limits: JSONLimits(maximumDepth: 3)) }
        let error = #expect(throws: JSONError.self) {
            try JSONReader.parse(nested(4), limits: JSONLimits(maximumDepth: 3))
        }
        #expect(error?.reason == .tooDeep)
        // A configured depth beyond the ceiling is the ceiling: no text ends the process.
        let ceiling = JSONLimits(maximumDepth: .max)
        #expect(throws: Never.self) { try JSONReader.parse(nested(JSONLimits.depthCeiling), limits: ceiling) }
        #expect(throws: JSONError.self) { try JSONReader.parse(nested(100_000), limits: ceiling) }
        let open = Array(String(repeating: String(UnicodeScalar(bracket)), count: 100_000).utf8)
        #expect(throws: JSONError.self) { try JSONReader.parse(open) }
    }

    @Test func size_isAllowedAtTheLimitAndRefusedOnePast() throws {
        let text = Array("[1,2,3]".utf8)
        #expect(throws: Never.self) { try JSONReader.parse(text, limits: JSONLimits(maximumBytes: 7)) }
        let error = #expect(throws: JSONError.self) { try JSONReader.parse(text, limits: JSONLimits(maximumBytes: 6)) }
        #expect(error?.reason == .tooLarge && error?.offset == 6)
    }

    @Test(arguments: [
        ("{\"a\":1,\"a\":2}", 7), ("[1,x]", 3), ("[1] x", 4), ("\"a\\q\"", 3), ("\"abc\\ud800\"", 4), ("", 0),
    ])
    func error_namesTheOffset(_ text: String, _ offset: Int) {
        let error = #expect(throws: JSONError.self) { try JSONReader.parse(Array(text.utf8)) }
        #expect(error?.offset == offset)
    }

    @Test func everyTruncationOfAText_isRefused() throws {
        let text = Array(#"{"alg":"RS256","n":[-1.5e+3,true,null,"\ud83d\ude00é"],"o":{"x":false}}"#.utf8)
        #expect(throws: Never.self) { try JSONReader.parse(text) }
        for count in 0..<text.count {
            #expect(throws: JSONError.self) { try JSONReader.parse(Array(text[..<count])) }
        }
    }

    /// Comparing each name with all before it would take minutes here.
    @Test(.timeLimit(.minutes(10))) func manyMembers_takeTimeInProportion() throws {
        let names = (0..<200_000).map { "\"member \($0)\":\($0)" }
        let text = Array("{\(names.joined(separator: ","))}".utf8)
        let object = try #require(try JSONReader.parse(text, limits: JSONLimits(maximumBytes: text.count)).objectValue)
        #expect(object.count == 200_000)
        #expect(object.members.last?.name == "member 199999")
    }
}

@Suite struct JSONNumberTests {
    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("9007199254740993", 9_007_199_254_740_993), ("9223372036854775807", Int64.max),
            ("-9223372036854775808", Int64.min), ("9223372036854775808", nil), ("-9223372036854775809", nil),
            ("1.0", nil),
            ("1e3", nil), ("1E0", nil), ("123456789012345678901234567890", nil),
        ] as [(String, Int64?)])
    func int64_isExactOrNil(_ text: String, _ value: Int64?) throws {
        #expect(try JSONReader.parse(Array(text.utf8)).int64Value == value)
    }

    @Test(
        arguments: [
            ("1.5", 1.5), ("-2e2", -200), ("1e999", nil), ("-1e999", nil), ("1e-999", 0), ("0.1", 0.1),
        ] as [(String, Double?)])
    func double_isFiniteOrNil(_ text: String, _ value: Double?) throws {
        guard case .number(let number) = try JSONReader.parse(Array(text.utf8)) else {
            Issue.record("no number")
            return
        }
        #expect(number.double == value)
        #expect(number.literal == text)
    }

    @Test func hugeLiterals_neitherTrapNorLose() throws {
        let text = String(repeating: "9", count: 100_000)
        guard case .number(let number) = try JSONReader.parse(Array(text.utf8)) else {
            Issue.record("no number")
            return
        }
        #expect(number.int64 == nil)
        #expect(number.double == nil)
        #expect(JSONWriter.encode(.number(number)) == Array(text.utf8))
    }
}
