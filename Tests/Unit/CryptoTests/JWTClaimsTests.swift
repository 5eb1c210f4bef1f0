import Coding
import Crypto
import Testing

@Suite struct JWTClaimsTests {
    static func claims(_ text: String) throws -> JSONObject {
        try JSONObject.claims(Array(text.utf8))
    }

    @Test(
        arguments: [
            ("0", 0), ("1700000000", 1_700_000_000_000), ("1700000000.5", 1_700_000_000_500),
            ("1.7e9", 1_700_000_000_000),
            ("1700000000.9999", 1_700_000_000_999), ("9007199254740991", 9_007_199_254_740_991_000),
            ("9007199254740992", nil), ("9.007199254740992e15", nil), ("-1", nil), ("-0.5", nil), ("1e999", nil),
            ("-1e999", nil),
            ("99999999999999999999", nil), (#""1700000000""#, nil), ("null", nil), ("true", nil), ("[1]", nil),
            ("{}", nil),
            (#""NaN""#, nil),
        ] as [(String, Int64?)])
    func numericDate_isANonNegativeNumber(_ value: String, _ milliseconds: Int64?) throws {
        let claims = try Self.claims(#"{"exp":\#(value)}"#)
        #expect(claims.numericDate("exp")?.milliseconds == milliseconds)
        #expect(claims.numericDate("nbf") == nil)
    }

    @Test(arguments: [
        (#"{"aud":"a"}"#, ["a"]), (#"{"aud":["a","b"]}"#, ["a", "b"]), (#"{"aud":[]}"#, []), (#"{}"#, []),
        (#"{"aud":["a",1]}"#, []), (#"{"aud":null}"#, []), (#"{"aud":{"a":1}}"#, []), (#"{"aud":7}"#, []),
    ])
    func audience_isAStringOrStrings(_ text: String, _ audience: [String]) throws {
        #expect(try Self.claims(text).audience == audience)
    }

    @Test(arguments: ["", "[]", #""x""#, #"{"sub":"a","sub":"b"}"#, #"{"sub":"a","\u0073ub":"b"}"#, "{}{}"])
    func otherThanOneStrictObject_isRefused(_ text: String) {
        #expect(throws: JOSEError.self) { try Self.claims(text) }
    }
}
