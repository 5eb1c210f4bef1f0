import Coding
import Testing

@Suite struct JSONWriterTests {
    @Test func commas_areOnlyBetweenValues() {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("a", "x")
        writer.member("b", nil as String?)
        writer.name("c")
        writer.beginArray()
        writer.write(1 as Int64)
        writer.write(true)
        writer.beginObject()
        writer.endObject()
        writer.writeNull()
        writer.beginArray()
        writer.endArray()
        writer.endArray()
        writer.member("d", -5 as Int64)
        writer.member("e", false)
        writer.member("f", Timestamp(milliseconds: 0))
        writer.endObject()
        let expected =
            #"{"a":"x","b":null,"c":[1,true,{},null,[]],"d":-5,"e":false,"f":"1970-01-01T00:00:00.000Z"}"#
        #expect(String(decoding: writer.bytes, as: UTF8.self) == expected)
    }

    @Test(arguments: [
        ("plain", #""plain""#), ("\"\\/", #""\"\\/""#), ("\n\r\t", #""\n\r\t""#),
        ("\u{0}\u{1F}\u{7F}", #""\u0000\u001f\u007f""#),
        ("</script><!--&", #""\u003c/script\u003e\u003c!--\u0026""#), ("\u{2028}\u{2029}", #""\u2028\u2029""#),
        ("é😀", "\"é😀\""),
    ])
    func strings_areSafeInsideAScriptElement(_ text: String, _ json: String) throws {
        let bytes = JSONWriter.encode(.string(text))
        #expect(String(decoding: bytes, as: UTF8.self) == json)
        #expect(try JSONReader.parse(bytes) == .string(text))
    }

    @Test func everyScalarBelow0x3000_survivesWritingAndReading() throws {
        let text = String(String.UnicodeScalarView((0..<0x3000 as Range<UInt32>).compactMap(Unicode.Scalar.init)))
        let object: JSONObject = [text: .string(text)]
        #expect(try JSONReader.parse(JSONWriter.encode(object)) == .object(object))
    }

    @Test func numbers_keepTheirLiteral() throws {
        let text = #"[1.50,1e3,-0,12345678901234567890]"#
        let value = try JSONReader.parse(Array(text.utf8))
        #expect(String(decoding: JSONWriter.encode(value), as: UTF8.self) == text)
    }

    @Test func object_keepsOrderAndReplacesInPlace() {
        var object: JSONObject = ["b": 1, "a": 2]
        object["b"] = 3
        object["c"] = nil
        object["d"] = 4
        object["a"] = nil
        #expect(String(decoding: JSONWriter.encode(object), as: UTF8.self) == #"{"b":3,"d":4}"#)
    }
}
