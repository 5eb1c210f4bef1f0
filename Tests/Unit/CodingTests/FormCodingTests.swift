import Coding
import Foundation
import Testing

@Suite struct FormCodingTests {
    struct Vector: Sendable, CustomTestStringConvertible {
        let input: String
        let output: [FormField]
        var testDescription: String { input.debugDescription }
    }

    /// The WHATWG URL standard's own cases.
    static let vectors: [Vector] = {
        let url = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "Vectors/urlencoded-parser-data.json")
        guard let data = try? Data(contentsOf: url), let list = try? JSONReader.parse([UInt8](data)).arrayValue else {
            return []
        }
        return list.compactMap { element in
            guard let vector = element.objectValue, let input = vector["input"]?.stringValue,
                let output = vector["output"]?.arrayValue
            else { return nil }
            return Vector(
                input: input,
                output: output.compactMap { pair in
                    guard let pair = pair.arrayValue?.compactMap(\.stringValue), pair.count == 2 else { return nil }
                    return FormField(name: pair[0], value: pair[1])
                })
        }
    }()

    @Test func vectors_areAllThere() {
        #expect(Self.vectors.count == 35)
    }

    @Test(arguments: vectors)
    func parse_matchesTheStandard(_ vector: Vector) throws {
        let fields = try FormDecoder.parse(Array(vector.input.utf8))
        #expect(fields.map { Array($0.name.utf8) } == vector.output.map { Array($0.name.utf8) })
        #expect(fields.map { Array($0.value.utf8) } == vector.output.map { Array($0.value.utf8) })
    }

    @Test func rawBytesThatAreNotUTF8_becomeReplacementCharacters() throws {
        let fields = try FormDecoder.parse([0x61, 0xFE, 0x3D, 0xC3, 0x28])
        #expect(fields == [FormField(name: "a\u{FFFD}", value: "\u{FFFD}(")])
    }

    @Test func limits_holdAtTheValueAndOnePast() throws {
        let body = Array("a=1&b=2&&c=3".utf8)
        #expect(try FormDecoder.parse(body, maximumBytes: 12, maximumFields: 3).count == 3)
        #expect(throws: FormError.tooLarge) {
            try FormDecoder.parse(body, maximumBytes: 11, maximumFields: 3)
        }
        #expect(throws: FormError.tooManyFields) {
            try FormDecoder.parse(body, maximumBytes: 12, maximumFields: 2)
        }
    }

    @Test func encode_matchesTheStandardAndReadsBack() throws {
        let fields = [("a b", "c+d"), ("é", "&=%"), ("*-._~", ""), ("", "\u{0}\r\n😀")]
        let bytes = FormEncoder.encode(fields)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "a+b=c%2Bd&%C3%A9=%26%3D%25&*-._%7E=&=%00%0D%0A%F0%9F%98%80")
        #expect(try FormDecoder.parse(bytes) == fields.map { FormField(name: $0.0, value: $0.1) })
        #expect(FormEncoder.encode([]) == [])
    }
}

@Suite struct PercentEncodingTests {
    @Test func component_keepsUnreservedCharactersOnly() {
        #expect(PercentEncoding.encodeComponent("AZaz09-._~") == "AZaz09-._~")
        #expect(
            PercentEncoding.encodeComponent("a b/c?d#e&f=g+h%:@é") == "a%20b%2Fc%3Fd%23e%26f%3Dg%2Bh%25%3A%40%C3%A9")
        let bytes = Array(UInt8.min...UInt8.max)
        #expect(PercentEncoding.decode(PercentEncoding.encodeComponent(bytes)) == bytes)
    }

    /// RFC 3986 §2.1 and the WHATWG URL standard's examples of percent-decoding.
    @Test(arguments: [
        ("a%20b", "a b"), ("%C3%a9", "é"), ("+", "+"), ("", ""), ("%2541", "%41"), ("%E2%80%bd!", "\u{203D}!"),
        ("a+b%2b%2B", "a+b++"),
    ])
    func decode_readsOnce(_ text: String, _ plain: String) {
        #expect(PercentEncoding.decode(text) == Array(plain.utf8))
    }

    @Test(arguments: ["%", "%4", "a%", "a%4", "%g0", "%0g", "%%41", "% 41", "%u0041", "%25%s%1G"])
    func decode_refusesABrokenEscape(_ text: String) {
        #expect(PercentEncoding.decode(text) == nil)
    }

    @Test func escapedByte_isReadInPlace() {
        #expect(PercentEncoding.escapedByte(in: Array("x%41".utf8).span, at: 0) == nil)
        #expect(PercentEncoding.escapedByte(in: Array("x%41".utf8).span, at: 1) == 0x41)
        var form: [UInt8] = []
        FormDecoder.append(decoding: Array("%25%s+%1G%".utf8).span, to: &form)
        #expect(form == Array("%%s %1G%".utf8), "a lone percent stands for itself")
    }
}
