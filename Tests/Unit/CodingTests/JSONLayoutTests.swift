import Coding
import Testing

@Suite struct JSONLayoutTests {
    @Test func objectsAreIndented_andPlainListsStayOnOneLine() {
        let value: JSONValue = [
            "a": ["b": 1, "c": []], "d": ["x", true, .null], "e": [["f": "g"]], "h": JSONValue.object([:]),
        ]
        let expected = """
            {
                "a": {
                    "b": 1,
                    "c": []
                },
                "d": ["x", true, null],
                "e": [
                    {
                        "f": "g"
                    }
                ],
                "h": {}
            }

            """
        #expect(JSONLayout.text(value) == expected)
    }

    @Test(arguments: [
        "plain", "A & \"B\" <c> \\ /", "line\nbreak\r\t", "\u{0}\u{1}\u{1F}\u{7F}", "李雷 \u{2028} 😀", "",
    ])
    func everyTextReadsBackAsItWas(text: String) throws {
        let value: JSONValue = .object([text: .string(text)])
        #expect(try JSONReader.parse(Array(JSONLayout.text(value).utf8), limits: JSONLimits()) == value)
    }

    @Test func lettersStayReadable() {
        #expect(JSONLayout.text("A & B 李雷") == "\"A & B 李雷\"\n")
    }
}
