import HTTP
import HTTPTypes
import Testing

@Suite struct MediaTypeTests {
    @Test(
        "type and subtype in lower case, without parameters",
        arguments: [
            ("application/json", "application/json"), ("Application/JSON", "application/json"),
            ("application/json;charset=utf-8", "application/json"), ("text/html ; charset=utf-8", "text/html"),
            (" text/plain\t", "text/plain"), ("text", "text"), ("", nil), (" ", nil), (";", nil), ("; text/html", nil),
            // U+212A KELVIN SIGN is no k, though Unicode's lower case makes one of it.
            ("text/\u{212A}", "text/\u{212A}"),
        ])
    func essences(value: String, expected: String?) {
        var fields = HTTPFields()
        fields[.contentType] = value
        #expect(MediaType.essence(of: fields)?.unicodeScalars.map(\.value) == expected?.unicodeScalars.map(\.value))
    }

    @Test func missingAndRepeatedTypesAreNil() {
        var fields = HTTPFields()
        #expect(MediaType.essence(of: fields) == nil)
        fields.append(HTTPField(name: .contentType, value: "text/html"))
        fields.append(HTTPField(name: .contentType, value: "text/html"))
        #expect(MediaType.essence(of: fields) == nil)
    }
}
