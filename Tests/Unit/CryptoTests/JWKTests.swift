import Coding
import Crypto
import Testing

@Suite struct WycheproofJWKTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let id: Int64
        let comment, jws, result: String
        let keys: JSONObject
        var testDescription: String { "\(id) \(comment)" }
    }

    static let cases: [Case] = {
        guard let file = try? TestVectors.object("json_web_key_test.json") else { return [] }
        return file.objects("testGroups").flatMap { group in
            group.objects("tests").map { test in
                Case(
                    id: test["tcId"]?.int64Value ?? -1, comment: test.text("comment"), jws: test.text("jws"),
                    result: test.text("result"), keys: group["public"]?.objectValue ?? group.object("private"))
            }
        }
    }()

    @Test func cases_areAllThere() {
        #expect(Self.cases.count == 25)
    }

    /// The algorithms the vectors use that we have no code for, by design: a shared secret cannot vouch for Apple.
    static let symmetric = ["HS256", "HS384", "HS512"]

    @Test(arguments: cases)
    func token_isAcceptedWhenWycheproofSaysValidAndTheAlgorithmIsAllowed(_ test: Case) throws {
        let algorithm = try? CompactJWS.parse(test.jws).algorithm
        let isValid = test.result == "valid" && !Self.symmetric.contains(algorithm ?? "")
        let keyFile = JSONWriter.encode(test.keys)
        for name in JWSCheck.algorithms {
            let outcome = JWSCheck.run(keyFile: keyFile, algorithm: name, input: Array(test.jws.utf8))
            #expect(outcome.isValid == (isValid && name == algorithm))
        }
        if isValid, algorithm == "RS256" {
            #expect(throws: Never.self) { try Self.verifyAsTheServerDoes(test) }
        } else {
            #expect(throws: JOSEError.self) { try Self.verifyAsTheServerDoes(test) }
        }
    }

    static func verifyAsTheServerDoes(_ test: Case) throws(JOSEError) {
        let jws = try CompactJWS.parse(test.jws)
        try RS256.requireAlgorithm(of: jws)
        guard let key = try JWKSet(test.keys).key(for: jws.keyID ?? "") else { throw .unknownKey(jws.keyID) }
        try RS256.verify(jws, with: key)
    }

    @Test func privateSets_areRefusedWhole() throws {
        let file = try TestVectors.object("json_web_key_test.json")
        let sets = file.objects("testGroups").map { $0.object("private") }
        #expect(sets.count > 20)
        for set in sets {
            #expect(throws: JOSEError.self) { try JWKSet(set) }
        }
    }
}

@Suite struct JWKSetTests {
    /// A good key, from RFC 7515.
    static func goodKey() throws -> JSONObject {
        var key = try TestVectors.object("rfc7515_a2.json").object("key")
        key["kid"] = "a"
        return key
    }

    static func set(_ keys: [JSONObject]) -> JSONObject {
        ["keys": .array(keys.map(JSONValue.object))]
    }

    /// RFC 7517 §4: each member by itself makes the key usable or not.
    @Test(
        arguments: [
            ("use", "sig", true), ("use", "enc", false), ("use", "", false), ("use", 1, false), ("use", .null, false),
            ("alg", "RS256", true), ("alg", "RS384", false), ("alg", "PS256", false), ("alg", "rs256", false),
            ("alg", .null, false),
            ("key_ops", ["verify"], true), ("key_ops", ["sign", "verify"], true), ("key_ops", ["sign"], false),
            ("key_ops", [], false), ("key_ops", "verify", false), ("kty", "EC", false), ("kty", "rsa", false),
            ("kty", .null, false),
            ("kid", "", false), ("kid", 5, false), ("kid", "Ünïcode", true), ("e", "AQAB", true), ("e", "Aw", true),
            ("e", "AQ", false),
            ("e", "Ag", false), ("e", "AAEAAQ", false), ("e", "", false), ("e", "AQAB=", false), ("e", 65537, false),
            ("n", "", false),
            ("n", "AQAB", false), ("n", "!", false), ("n", .null, false), ("x5c", ["AA"], true), ("extra", [:], true),
        ] as [(String, JSONValue, Bool)])
    func member_decidesWhetherAKeyIsUsable(_ name: String, _ value: JSONValue, _ isUsable: Bool) throws {
        var key = try Self.goodKey()
        key[name] = value
        let set = try JWKSet(Self.set([key]))
        #expect(set.rs256Keys.count == (isUsable ? 1 : 0))
        #expect((set.key(for: key["kid"]?.stringValue ?? "a") != nil) == isUsable)
    }

    @Test(arguments: ["kty", "kid", "n", "e"])
    func absentMember_makesAKeyUnusable(_ name: String) throws {
        var key = try Self.goodKey()
        key[name] = nil
        #expect(try JWKSet(Self.set([key])).rs256Keys.isEmpty)
    }

    @Test func unusableKeys_areSkippedAndTheOthersKept() throws {
        let good = try Self.goodKey()
        let curve = try TestVectors.object("rfc7515_a3.json").object("key")
        let set = try JWKSet(
            Self.set([curve, ["kty": "OKP", "crv": "Ed25519", "x": "AA", "kid": "b"], ["kty": "new"], good, [:]]))
        #expect(set.rs256Keys.map(\.keyID) == ["a"])
        #expect(set.keys.count == 5)
        #expect(set.key(for: "a") != nil)
        #expect(set.key(for: "b") == nil)
        #expect(set.key(for: "") == nil)
    }

    @Test func kid_isComparedByCodePoints() throws {
        var key = try Self.goodKey()
        key["kid"] = "K1"
        let set = try JWKSet(Self.set([key]))
        #expect(set.key(for: "K1") != nil)
        #expect(set.key(for: "\u{212A}1") == nil)
        #expect(set.key(for: "k1") == nil)
        #expect(set.key(for: "K1 ") == nil)
    }

    @Test func twoKeysOfOneKid_refuseTheSet() throws {
        let good = try Self.goodKey()
        #expect(throws: JOSEError.refusedKeySet("two keys have one kid")) { try JWKSet(Self.set([good, good])) }
        // Also when only one of them is usable.
        var curve = try TestVectors.object("rfc7515_a3.json").object("key")
        curve["kid"] = "a"
        #expect(throws: JOSEError.refusedKeySet("two keys have one kid")) { try JWKSet(Self.set([curve, good])) }
    }

    @Test(arguments: ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"])
    func secretMember_refusesTheSet(_ name: String) throws {
        var key = try Self.goodKey()
        key[name] = "AQAB"
        #expect(throws: JOSEError.refusedKeySet("it holds a private or symmetric key")) { try JWKSet(Self.set([key])) }
    }

    @Test(arguments: [
        "", "<html></html>", "[]", "null", "{}", #"{"keys":{}}"#, #"{"keys":null}"#, #"{"keys":[1]}"#,
        #"{"keys":[null]}"#,
        #"{"keys":[],"keys":[]}"#, #"{"keys":[]}x"#, #"{"keys":[{"kty":"RSA","kty":"EC"}]}"#,
    ])
    func otherTexts_areRefused(_ text: String) {
        #expect(throws: JOSEError.self) { try JWKSet.parse(Array(text.utf8)) }
    }

    @Test func emptySet_isRead() throws {
        #expect(try JWKSet.parse(Array(#"{"keys":[]}"#.utf8)).rs256Keys.isEmpty)
    }

    @Test func limits_holdAtTheValueAndOnePast() throws {
        let keys = (0...JWKSet.maximumKeys).map { ["kty": "new", "kid": .string("\($0)")] as JSONObject }
        #expect(throws: Never.self) { try JWKSet(Self.set(Array(keys.dropLast()))) }
        #expect(throws: JOSEError.self) { try JWKSet(Self.set(keys)) }
        let padding = [UInt8](repeating: 0x20, count: JWKSet.maximumBytes - 11)
        #expect(throws: Never.self) { try JWKSet.parse(Array(#"{"keys":[]}"#.utf8) + padding) }
        #expect(throws: JOSEError.tooLarge(limit: JWKSet.maximumBytes)) {
            try JWKSet.parse(Array(#"{"keys":[]}"#.utf8) + padding + [0x20])
        }
    }
}
