import AppleSimulator
import Coding
import Foundation
import IndependentSigning
import Testing

/// Identity tokens of an independent signer, through the running server.
@Suite struct IdentityTokenValidation {
    static let soundHeader: JSON = ["kid": .string(IndependentSigner.firstKey), "alg": "RS256"]

    // MARK: Accepted

    static let sound: [Forgery] = [
        Forgery(name: "as it is"),
        .claims("aud as a list of one", ["aud": ["com.example.web"]]),
        .claims("azp is the client", ["azp": "com.example.web"]),
        .claims("nonce_supported false with a nonce", ["nonce_supported": false]),
        .claims("unknown claims", ["foo": ["bar": [1, 2, .null]], "org_id": "x"]),
        .header("typ JWT", ["typ": "JWT"]),
        .header("typ jwt", ["typ": "jwt"]),
        .header(
            "jwk, jku, x5u and x5c of somebody else",
            [
                "jwk": ["kty": "oct", "k": "AAAA"], "jku": "https://evil.example/k", "x5u": "https://evil.example/c",
                "x5c": ["AAAA"],
            ]),
        Forgery(name: "white space in the JSON", header: { " " + $0 + "\n" }, payload: { "\r\n\t" + $0 }),
    ]

    @Test(arguments: sound) func validTokenOfAnotherSignerIsAccepted(forgery: Forgery) async throws {
        try await withConsent(signersKeys: true) { (site: Site, browser: Browser, form: Form) async throws in
            let claims = JSON.part(1, of: try #require(form["id_token"]))
            let token = try await forgery.token(header: Self.soundHeader, claims: claims)
            #expect(try await browser.postCallback(form.setting("id_token", token)).status == 303)
            #expect(try await browser.session()?["user"]?["email"]?.stringValue == "ada@example.com")
        }
    }

    // MARK: Refused

    static let algorithms: [Forgery] = [
        Forgery(name: "alg none, no signature", header: { _ in "{\"alg\":\"none\"}" }, method: "none"),
        Forgery(
            name: "alg none with kid", header: { $0.replacingOccurrences(of: "RS256", with: "none") }, method: "none"),
        Forgery(name: "alg nOnE", header: { $0.replacingOccurrences(of: "RS256", with: "nOnE") }, method: "none"),
        Forgery(name: "alg none with a signature", header: { $0.replacingOccurrences(of: "RS256", with: "none") }),
        Forgery(
            name: "HS256 by the PEM", header: { $0.replacingOccurrences(of: "RS256", with: "HS256") },
            method: "HS256-pem"),
        Forgery(
            name: "HS256 by the DER", header: { $0.replacingOccurrences(of: "RS256", with: "HS256") },
            method: "HS256-der"),
        Forgery(name: "HS256 by n", header: { $0.replacingOccurrences(of: "RS256", with: "HS256") }, method: "HS256-n"),
        Forgery(name: "RS256 said, HS256 done", method: "HS256-pem"),
        Forgery(name: "ES256", header: { $0.replacingOccurrences(of: "RS256", with: "ES256") }, method: "ES256"),
        Forgery(name: "RS256 said, ES256 done", method: "ES256"),
        Forgery(name: "PS256", header: { $0.replacingOccurrences(of: "RS256", with: "PS256") }, method: "PS256"),
        Forgery(name: "RS256 said, PS256 done", method: "PS256"),
        Forgery(name: "RS512", header: { $0.replacingOccurrences(of: "RS256", with: "RS512") }, method: "RS512"),
        Forgery(name: "RS256 said, RS512 done", method: "RS512"),
        .header("alg in lower case", ["alg": "rs256"]),
        .header("alg missing", ["alg": .null]),
        .header("alg empty", ["alg": ""]),
        .header("alg a list", ["alg": ["RS256"]]),
        .header("alg with a space", ["alg": "RS256 "]),
        .header("crit", ["crit": ["exp"], "exp": 1]),
        .header("crit empty", ["crit": []]),
        .header("b64 false", ["b64": false, "crit": ["b64"]]),
        .header("b64 false without crit", ["b64": false]),
        .header("typ of something else", ["typ": "at+jwt"]),
        .header("typ a number", ["typ": 1]),
        .header("zip", ["zip": "DEF", "crit": ["zip"]]),
        Forgery(
            name: "an empty signature",
            compact: { $0.components(separatedBy: ".").dropLast().joined(separator: ".") + "." }),
        Forgery(
            name: "a signature of zeros", compact: { Self.replacing(2, of: $0, by: String(repeating: "A", count: 342)) }
        ),
        Forgery(name: "a signature one byte short", compact: { Self.replacing(2, of: $0, by: nil, dropping: 4) }),
    ]

    /// Which key.
    static let keys: [Forgery] = [
        Forgery(name: "a stranger's signature under a published kid", key: IndependentSigner.strangersKey),
        Forgery(name: "a published key's signature under another's kid", key: IndependentSigner.secondKey),
        .header("kid missing", ["kid": .null]),
        .header("kid empty", ["kid": ""]),
        .header("kid a number", ["kid": 1]),
        .header("kid a list", ["kid": [.string(IndependentSigner.firstKey)]]),
        .header("kid with a space", ["kid": .string(IndependentSigner.firstKey + " ")]),
        .header("kid in other case", ["kid": .string(IndependentSigner.firstKey.lowercased())]),
        .header("kid a path", ["kid": "../../../../dev/null"]),
        .header("kid a query", ["kid": "x' OR '1'='1"]),
        .header("kid a NUL", ["kid": .string(IndependentSigner.firstKey + "\0")]),
        .header("kid very long", ["kid": .string(String(repeating: "k", count: 9000))]),
        .header("kid of a stranger", ["kid": .string(IndependentSigner.strangersKey)]),
        Forgery(
            name: "a stranger's key in the header",
            header: { $0.dropLast() + ",\"jwk\":{\"kty\":\"RSA\",\"kid\":\"T8tIJ1zSrO\"}}" },
            key: IndependentSigner.strangersKey),
    ]

    static let claims: [Forgery] = [
        .claims("iss missing", ["iss": .null]),
        .claims("iss of another", ["iss": "https://evil.example"]),
        .claims("iss with a slash", ["iss": "https://appleid.apple.com/"]),
        .claims("iss in capitals", ["iss": "https://AppleID.apple.com"]),
        .claims("iss a list", ["iss": ["https://appleid.apple.com"]]),
        .claims("iss empty", ["iss": ""]),
        .claims("aud missing", ["aud": .null]),
        .claims("aud empty", ["aud": ""]),
        .claims("aud an empty list", ["aud": []]),
        .claims("aud of another", ["aud": "com.example.other"]),
        .claims("aud of the app", ["aud": "com.example.app"]),
        .claims("aud in other case", ["aud": "COM.example.web"]),
        .claims("aud holds further ones", ["aud": ["com.example.web", "com.example.other"]]),
        .claims("aud holds the app too", ["aud": ["com.example.web", "com.example.app"]]),
        .claims("aud holds a number", ["aud": ["com.example.web", 1]]),
        .claims("aud an object", ["aud": ["com.example.web": true]]),
        .claims("azp of another", ["azp": "com.example.other"]),
        .claims("azp a list", ["azp": ["com.example.web"]]),
        .claims("nbf a list", ["nbf": []]),
        .claims("exp missing", ["exp": .null]),
        .claims("exp a string", ["exp": "99999999999"]),
        .claims("exp beyond what a double holds", ["exp": 9_007_199_254_740_993]),
        .claims("exp negative", ["exp": -1]),
        .claims("exp zero", ["exp": 0]),
        .claims("exp true", ["exp": true]),
        .claims("exp a list", ["exp": [99_999_999_999]]),
        .raw("exp 1e999", without: "exp", "\"exp\":1e999"),
        .raw("exp 1e308", without: "exp", "\"exp\":1e308"),
        .raw("exp NaN", without: "exp", "\"exp\":NaN"),
        .raw("exp Infinity", without: "exp", "\"exp\":Infinity"),
        .raw("exp huge", without: "exp", "\"exp\":123456789012345678901234567890"),
        .claims("iat missing", ["iat": .null]),
        .claims("iat a string", ["iat": "1"]),
        .raw("iat -0.5", without: "iat", "\"iat\":-0.5"),
        .raw("iat 1e999", without: "iat", "\"iat\":1e999"),
        .claims("nbf far ahead", ["nbf": 99_999_999_999]),
        .claims("nbf a string", ["nbf": "0"]),
        .claims("sub missing", ["sub": .null]),
        .claims("sub empty", ["sub": ""]),
        .claims("sub a number", ["sub": 1]),
        .claims("sub a list", ["sub": ["x"]]),
        .claims("sub with NUL", ["sub": "a\0b"]),
        .claims("sub beyond ASCII", ["sub": "é"]),
        .claims("sub very long", ["sub": .string(String(repeating: "s", count: 256))]),
        .claims("nonce missing", ["nonce": .null]),
        .claims("nonce missing and not supported", ["nonce": .null, "nonce_supported": false]),
        .claims("nonce empty", ["nonce": ""]),
        .claims("nonce of another attempt", ["nonce": .string(String(repeating: "A", count: 43))]),
        .claims("nonce true", ["nonce": true]),
        .claims("c_hash missing", ["c_hash": .null]),
        .claims("c_hash empty", ["c_hash": ""]),
        .claims("c_hash of another code", ["c_hash": "AAAAAAAAAAAAAAAAAAAAAA"]),
        .claims("c_hash a list", ["c_hash": []]),
        .claims("events, as a notification has", ["events": "{}"]),
        .claims("events null-like", ["events": false]),
    ]

    static let encodings: [Forgery] = [
        Forgery(name: "two parts", compact: { $0.components(separatedBy: ".").dropLast().joined(separator: ".") }),
        Forgery(name: "four parts", compact: { $0 + ".AAAA" }),
        Forgery(name: "five parts, as an encrypted one", compact: { "eyJ.." + $0 }),
        Forgery(name: "a trailing dot", compact: { $0 + "." }),
        Forgery(name: "an empty payload", compact: { Self.replacing(1, of: $0, by: "") }),
        Forgery(name: "an empty header", compact: { Self.replacing(0, of: $0, by: "") }),
        Forgery(name: "padding", compact: { $0 + "==" }),
        Forgery(name: "white space at the end", compact: { $0 + "\n" }),
        Forgery(name: "white space in the middle", compact: { $0.replacingOccurrences(of: ".", with: ". ") }),
        Forgery(name: "non-canonical last bits", compact: { Self.nudgingLastCharacter(of: $0) }),
        Forgery(
            name: "standard alphabet",
            compact: {
                Self.replacing(
                    2, of: $0,
                    by: $0.components(separatedBy: ".")[2].replacingOccurrences(of: "-", with: "+")
                        .replacingOccurrences(of: "_", with: "/") + "+")
            }),
        Forgery(
            name: "longer than 16 KB",
            payload: { $0.dropLast() + ",\"x\":\"\(String(repeating: "x", count: 13_000))\"}" }),
        .raw("sub twice", "\"sub\":\"x\""),
        .raw("sub twice, escaped", "\"\\u0073ub\":\"x\""),
        .raw("aud twice, the same", "\"aud\":\"com.example.web\""),
        .raw("a claim twice, deep inside", "\"a\":{\"b\":1,\"b\":2}"),
        .rawHeader("alg twice", "\"alg\":\"none\""),
        .rawHeader("alg twice, the same", "\"alg\":\"RS256\""),
        .rawHeader("kid twice", "\"kid\":\"x\""),
        .raw(
            "ten thousand levels", "\"x\":" + String(repeating: "[", count: 5000) + String(repeating: "]", count: 5000)),
        .raw("levels never closed", "\"x\":" + String(repeating: "{\"a\":", count: 2000)),
        .raw("a lone surrogate", "\"x\":\"\\ud800\""),
        .raw("surrogates in the wrong order", "\"x\":\"\\udc00\\ud800\""),
        .raw("bytes that are no UTF-8", "\"x\":\"<NOT-UTF-8>\""),
        .rawHeader("bytes that are no UTF-8, in the header", "\"x\":\"<NOT-UTF-8>\""),
        .rawHeader("a lone surrogate in the header", "\"x\":\"\\udfff\""),
        Forgery(name: "a list as the claims", payload: { "[\($0)]" }),
        Forgery(name: "a string as the claims", payload: { _ in "\"x\"" }),
        Forgery(name: "null as the claims", payload: { _ in "null" }),
        Forgery(name: "text after the claims", payload: { $0 + "{}" }),
        Forgery(name: "a byte-order mark", payload: { "\u{feff}" + $0 }),
        Forgery(name: "a trailing comma", payload: { $0.dropLast() + ",}" }),
        Forgery(name: "a list as the header", header: { "[\($0)]" }),
        Forgery(name: "a comment", payload: { "/* x */" + $0 }),
    ]

    @Test(arguments: [("algorithms", algorithms), ("keys", keys), ("claims", claims), ("encodings", encodings)])
    func forgedTokensMakeNoSession(group: String, forgeries: [Forgery]) async throws {
        try await withConsent(signersKeys: true) { (site: Site, browser: Browser, form: Form) async throws in
            let claims = JSON.part(1, of: try #require(form["id_token"]))
            for forgery in forgeries {
                let token = try await forgery.token(header: Self.soundHeader, claims: claims)
                let response = try await browser.elsewhere().postCallback(form.setting("id_token", token))
                // 503: a kid that is unknown within the cool-down.
                #expect([400, 503].contains(response.status), "\(forgery.name): \(response.status)")
                #expect(response.setCookie(Browser.sessionName) == nil, "\(forgery.name)")
            }
            #expect(try await site.count("session") == 0)
            #expect(try await site.count("user") == 0)
            // Cheap checks and signatures come before the exchange: no code was spent.
            #expect(try await site.apple.requests(to: "token") == 0)
            // The same key, nonce and code, nothing wrong: what was refused was refused for its fault.
            let sound = try await Forgery(name: "sound").token(header: Self.soundHeader, claims: claims)
            #expect(try await browser.postCallback(form.setting("id_token", sound)).status == 303)
            #expect(try await site.count("session") == 1)
        }
    }

    /// Each boundary, and one second past it.
    @Test(
        arguments: [
            ("exp", -59, true), ("exp", -60, false), ("iat", 60, true), ("iat", 61, false), ("nbf", 60, true),
            ("nbf", 61, false),
        ] as [(String, Int64, Bool)])
    func timesAreCheckedToAMinute(claim: String, offset: Int64, isAccepted: Bool) async throws {
        try await withConsent(signersKeys: true) { (site: Site, browser: Browser, form: Form) async throws in
            var claims = JSON.part(1, of: try #require(form["id_token"]))
            let now = site.clock.seconds
            site.clock.advance(milliseconds: now * 1000 - site.clock.milliseconds())
            if claim == "exp" { claims["iat"] = .integer(now - 600) }
            claims[claim] = .integer(now + offset)
            let token = try await Forgery(name: "").token(header: Self.soundHeader, claims: claims)
            let response = try await browser.postCallback(form.setting("id_token", token))
            #expect((response.status == 303) == isAccepted)
            #expect((browser.sessionToken != nil) == isAccepted)
        }
    }

    /// Keys that are in the published set and may not be used.
    @Test func publishedKeysThatMayNotVerifyDoNot() async throws {
        let signer = IndependentSigner.shared
        let published: [(kid: String, bits: Int, members: JSON)] = [
            ("weak1024", 1024, [:]), ("enconly", 2048, ["use": "enc"]), ("rs512", 2048, ["alg": "RS512"]),
            ("signonly", 2048, ["key_ops": ["sign"]]), ("typeec", 2048, ["kty": "EC"]),
            ("notype", 2048, ["kty": .null]),
            ("exponent1", 2048, ["e": "AQ"]), ("evenexp", 2048, ["e": "BA"]), ("nomodulus", 2048, ["n": .null]),
            ("padded", 2048, ["e": "AQAB=="]),
        ]
        try await withSite { (site: Site) async throws in
            var keys = [try await signer.jwk(IndependentSigner.firstKey)]
            for key in published { keys.append(try await signer.jwk(key.kid, bits: key.bits, members: key.members)) }
            // Null removes in Python; without kid nobody can name it.
            try await site.publish(keys)
            let (browser, form) = try await site.consent()
            let claims = JSON.part(1, of: try #require(form["id_token"]))
            for key in published {
                let header: JSON = ["kid": .string(key.kid), "alg": "RS256"]
                let token = try await signer.sign(
                    header: header.text, payload: claims.text,
                    key: key.bits == 2048 ? key.kid : "\(key.kid)/\(key.bits)")
                let response = try await browser.postCallback(form.setting("id_token", token))
                #expect([400, 503].contains(response.status), "\(key.kid)")
            }
            #expect(browser.sessionToken == nil)
            let sound = try await Forgery(name: "").token(header: Self.soundHeader, claims: claims)
            #expect(try await browser.postCallback(form.setting("id_token", sound)).status == 303)
        }
    }

    /// A set with two keys of one kid, or with a private key, is refused whole and replaces nothing.
    @Test(
        arguments: [
            ["kid": .string(IndependentSigner.firstKey)], ["d": "AQAB"], ["k": "AAAA"], ["kid": 1],
        ] as [JSON])
    func brokenKeySetReplacesNothing(members: JSON) async throws {
        let signer = IndependentSigner.shared
        try await withSignedIn { (site: Site, browser: Browser) async throws in
            let broken = try await signer.jwk(IndependentSigner.secondKey, members: members)
            try await site.publish([try await signer.jwk(IndependentSigner.firstKey), broken])
            let form = try await browser.consent()
            let claims = JSON.part(1, of: try #require(form["id_token"]))
            let token = try await Forgery(name: "").token(header: Self.soundHeader, claims: claims)
            let refused = try await browser.postCallback(form.setting("id_token", token))
            if members["kid"]?.integer != 1 {
                #expect(refused.status == 503)
                // The good set of before still signs people in.
                #expect(try await browser.postCallback(form).status == 303)
            } else {
                // A key without a usable kid is skipped; the others are good.
                #expect(refused.status == 303)
            }
        }
    }

    @Test func aThousandUnknownKidsCostOneFetch() async throws {
        try await withConsent { (site: Site, browser: Browser, form: Form) async throws in
            let token = try #require(form["id_token"])
            let parts = token.components(separatedBy: ".")
            // The fetch every server begins with may still be under way.
            try await eventually(within: .seconds(60), "the keys of the start are there") {
                try await site.apple.requests(to: "keys") == 1
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for round in 0..<10 {
                    group.addTask {
                        let attacker = browser.elsewhere()
                        var bytes: [UInt8] = []
                        for number in 0..<100 {
                            let header: JSON = ["alg": "RS256", "kid": .string("kid\(round)x\(number)")]
                            let text = Data(header.bytes).base64EncodedString().replacingOccurrences(of: "=", with: "")
                            let forged = form.setting("id_token", "\(text).\(parts[1]).\(parts[2])")
                            bytes += WireRequest.post(
                                "/apple/callback", form: forged, number == 99 ? [("Connection", "close")] : [],
                                from: .otherSite("https://appleid.apple.com")
                            ).bytes(host: site.authority, cookies: "\(Browser.bindingName)=\(browser.binding ?? "")")
                        }
                        let answers = String(
                            decoding: try await attacker.exchange(bytes, finishing: false), as: UTF8.self)
                        let statuses = answers.components(separatedBy: "HTTP/1.1 ").dropFirst().map { $0.prefix(3) }
                        #expect(statuses.count == 100)
                        #expect(statuses.allSatisfy { $0 == "503" || $0 == "400" })
                    }
                }
                try await group.waitForAll()
            }
            // That one, and one for all the thousand.
            #expect(try await site.apple.requests(to: "keys") <= 2)
            // Keys we hold still work, meanwhile and after.
            #expect(try await browser.postCallback(form).status == 303)
        }
    }

    @Test(
        arguments: [
            ("PUT", "keys", ["mode": "empty"]), ("PUT", "keys", ["mode": "otherTypes"]),
            ("PUT", "keys", ["mode": "duplicateKid"]),
            ("PUT", "faults/keys", ["status": 503, "body": "html"]), ("PUT", "faults/keys", ["body": "garbage"]),
            ("PUT", "faults/keys", ["body": "empty"]), ("PUT", "faults/keys", ["close": "half"]),
        ] as [(String, String, JSON)])
    func uselessKeySetKeepsTheLastGoodOne(method: String, path: String, change: JSON) async throws {
        try await withSignedIn { (site: Site, browser: Browser) async throws in
            try await site.apple.control(method, path, change)
            for hours: Int64 in [2, 24] {
                // Due for renewal: asked, and no wiser.
                site.clock.advance(seconds: hours * 3600)
                #expect(try await browser.signIn().status == 303)
            }
            // Also after a restart, from the archive.
            try await site.restart()
            #expect(try await browser.signIn().status == 303)
            // Not for ever.
            site.clock.advance(seconds: 8 * 86_400)
            let late = try await browser.postCallback(try await browser.consent())
            #expect(late.status == 503)
            #expect(late["retry-after"] != nil)
            // And back to normal without a restart.
            try await site.apple.control("PUT", "keys", ["mode": "normal"])
            try await site.apple.control("DELETE", "faults/keys")
            site.clock.advance(seconds: 61)
            #expect(try await browser.signIn().status == 303)
        }
    }

    /// The nonce belongs to one attempt of one browser.
    @Test func tokenOfAnotherAttemptOfTheSameBrowserIsRefused() async throws {
        try await withSite { (site: Site) async throws in
            let browser = site.browser()
            let (first, second) = (try await browser.consent(), try await browser.consent())
            let mixed = first.setting("id_token", second["id_token"]).setting("code", second["code"])
            #expect(try await browser.postCallback(mixed).status == 400)
            #expect(browser.sessionToken == nil)
        }
    }

    // MARK: Shaping

    static func replacing(_ index: Int, of token: String, by text: String?, dropping count: Int = 0) -> String {
        var parts = token.components(separatedBy: ".")
        parts[index] = text ?? String(parts[index].dropLast(count))
        return parts.joined(separator: ".")
    }

    /// 256 bytes leave four unused bits in the last character: changed, the bytes are the same.
    static func nudgingLastCharacter(of token: String) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        guard let last = token.last, let index = alphabet.firstIndex(of: last) else { return token }
        return token.dropLast() + String(alphabet[index ^ 1])
    }
}
