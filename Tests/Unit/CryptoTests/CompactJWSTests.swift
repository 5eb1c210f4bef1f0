import Coding
import Crypto
import Testing

/// Makes tokens by hand, so that every part can be wrong in its own way.
enum HandMade {
    static func token(header: String, payload: String = "{}", signature: [UInt8] = [1, 2, 3]) -> String {
        [Array(header.utf8), Array(payload.utf8), signature].map(Base64URL.encode).joined(separator: ".")
    }
}

@Suite struct CompactJWSTests {
    @Test func parts_areSplit() throws {
        let text = HandMade.token(header: #"{"alg":"RS256","kid":"k"}"#, payload: #"{"a":1}"#, signature: [0xFF])
        let jws = try CompactJWS.parse(text)
        #expect(jws.algorithm == "RS256")
        #expect(jws.keyID == "k")
        #expect(jws.header == ["alg": "RS256", "kid": "k"])
        #expect(jws.payload == Array(#"{"a":1}"#.utf8))
        #expect(jws.signature == [0xFF])
        #expect(jws.signingInput == Array(text.dropLast(3).utf8))
        #expect(text.hasSuffix("._w"))
    }

    @Test(arguments: [
        "", ".", "..", "...", "a", "a.b", "a..c", ".b.c", "a.b.", "a.b.c.d", "a.b.c.", ".a.b.c", "e30.e30.AA.AA.AA",
    ])
    func otherThanThreeFullParts_areRefused(_ text: String) {
        #expect(throws: JOSEError.notCompact) { try CompactJWS.parse(text) }
    }

    /// Strict base64url in each of the parts.
    @Test(arguments: [0, 1, 2], ["=", "==", " ", "\n", "+", "/", "é", "!", "\0"])
    func aForeignCharacterInAnyPart_isRefused(_ part: Int, _ character: String) {
        var parts = HandMade.token(header: #"{"alg":"RS256"}"#).split(separator: ".").map(String.init)
        let intact = parts[part]
        for changed in [intact + character, character + intact] {
            parts[part] = changed
            let names = ["header", "payload", "signature"]
            #expect(throws: JOSEError.notBase64URL(part: names[part])) {
                try CompactJWS.parse(parts.joined(separator: "."))
            }
        }
    }

    @Test func surplusBitsInAnyPart_areRefused() {
        // "e30" is {}; its last character has two surplus bits. "AQ" is one byte, with four.
        #expect(throws: Never.self) { try CompactJWS.parse("e30.e30.AQ") }
        for text in ["e31.e30.AQ", "e30.e31.AQ", "e30.e30.AR", "e30.e30.Af", "e30.e30.A"] {
            #expect(throws: JOSEError.self) { try CompactJWS.parse(text) }
        }
    }

    @Test(arguments: [
        #"{"alg":"RS256","alg":"RS256"}"#, #"{"alg":"none","\u0061lg":"RS256"}"#, "[]", #""RS256""#, "null", "{", "",
        "{} ", #"{"alg":"RS256"}x"#, "\u{FEFF}{}", #"{"alg":"\ud800"}"#, #"{"alg":RS256}"#, #"{"alg":null}"#,
        #"{"alg":1}"#, #"{"alg":["RS256"]}"#, #"{"alg":"RS256","kid":7}"#, #"{"alg":"RS256","kid":null}"#,
    ])
    func headerThatIsMalformedJSON_isRefused(_ header: String) {
        if header == "{} " {
            #expect(throws: Never.self) { try CompactJWS.parse(HandMade.token(header: header)) }
        } else {
            #expect(throws: JOSEError.self) { try CompactJWS.parse(HandMade.token(header: header)) }
        }
    }

    /// RFC 7515 §4.1.11: what must be understood is not, so the token is refused.
    @Test(arguments: [
        (#""crit":["exp"]"#, "crit"), (#""crit":["b64"],"b64":false"#, "crit"), (#""crit":[]"#, "crit"),
        (#""crit":null"#, "crit"), (#""b64":false"#, "b64"), (#""b64":"true""#, "b64"), (#""b64":null"#, "b64"),
        (#""typ":"at+jwt""#, "typ"), (#""typ":"JOSE""#, "typ"), (#""typ":"""#, "typ"), (#""typ":null"#, "typ"),
        (#""typ":["JWT"]"#, "typ"), (#""typ":"JWT ""#, "typ"), (#""typ":"application/jwt""#, "typ"),
    ])
    func parameterThatChangesTheReading_isRefused(_ parameter: String, _ name: String) {
        #expect(throws: JOSEError.unsupportedHeader(name)) {
            try CompactJWS.parse(HandMade.token(header: #"{"alg":"RS256",\#(parameter)}"#))
        }
    }

    @Test(arguments: [
        #""typ":"JWT""#, #""typ":"jwt""#, #""typ":"Jwt""#, #""b64":true"#, #""cty":"x""#,
        #""jwk":{"kty":"oct","k":"AA"}"#, #""jku":"http://127.0.0.1:1/keys""#, #""x5u":"http://127.0.0.1:1/""#,
        #""x5c":["AA"]"#, #""x":{"deep":[1]}"#,
    ])
    func otherParameters_areIgnored(_ parameter: String) {
        #expect(throws: Never.self) {
            try CompactJWS.parse(HandMade.token(header: #"{"alg":"RS256",\#(parameter)}"#))
        }
    }

    @Test func size_isAllowedAtTheLimitAndRefusedOnePast() {
        let start = "e30.e30."
        let limit = CompactJWS.defaultMaximumBytes
        #expect(limit == 16_384)
        let fitting = start + String(repeating: "A", count: limit - start.utf8.count)
        #expect(fitting.utf8.count == limit)
        #expect(throws: Never.self) { try CompactJWS.parse(fitting) }
        #expect(throws: JOSEError.tooLarge(limit: limit)) { try CompactJWS.parse(fitting + "A") }
    }

    /// Deep, repeated and broken JSON inside a token.
    @Test func hostileJSON_isRefusedAndTheProcessLives() {
        let deep = String(repeating: "[", count: 100_000)
        let wide = #"{"alg":"RS256","x":"# + deep
        for header in [deep, wide, #"{"alg":1e999}"#, #"{"alg":"\ud800"}"#] {
            #expect(throws: JOSEError.self) {
                try CompactJWS.parse(HandMade.token(header: header), maximumBytes: 1_000_000)
            }
        }
        #expect(throws: JOSEError.self) { try JSONObject.claims(Array(deep.utf8)) }
    }
}
