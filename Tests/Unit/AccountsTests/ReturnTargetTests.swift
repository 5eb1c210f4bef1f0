import Testing

@testable import Accounts

/// Where a sign-in may lead (ASVS 3.7.2).
@Suite struct ReturnTargetTests {
    static let targets = ReturnTargets(
        publicURL: "https://id.example.com/auth",
        allowedOrigins: [
            "https://app.example.com", "https://admin.example.com:8443", "http://localhost:3000",
            "https://Mixed.Example",
            "https://user@bad.example", "not an origin", "https://path.example/with/path", "https://[2001:db8::1]:444",
        ],
        defaultTarget: "/auth/account")

    @Test(
        "a path of ours, or a URL on an allowed origin, is kept",
        arguments: [
            ("/", "/"),
            ("/auth/account", "/auth/account"),
            ("/notes", "/notes"),
            ("/notes?id=1&x=%2F%2Fevil#top", "/notes?id=1&x=%2F%2Fevil#top"),
            ("/search?q=100%", "/search?q=100%"),
            ("/a//b", "/a//b"),
            ("/?next=https://evil.example", "/?next=https://evil.example"),
            ("/@evil.example", "/@evil.example"),
            ("/straße", "/stra%C3%9Fe"),
            ("/.well-known/x", "/.well-known/x"),
            ("/...", "/..."),
            ("/a:b@c", "/a:b@c"),
            ("https://id.example.com/auth/account", "https://id.example.com/auth/account"),
            ("https://id.example.com/elsewhere", "https://id.example.com/elsewhere"),
            ("https://id.example.com:443/x", "https://id.example.com/x"),
            ("https://app.example.com", "https://app.example.com/"),
            ("https://app.example.com/", "https://app.example.com/"),
            ("https://app.example.com?x=1", "https://app.example.com/?x=1"),
            ("https://app.example.com#x", "https://app.example.com/#x"),
            ("HTTPS://App.Example.COM/Path", "https://app.example.com/Path"),
            ("https://admin.example.com:8443/", "https://admin.example.com:8443/"),
            ("http://localhost:3000/dev", "http://localhost:3000/dev"),
            ("https://mixed.example/", "https://mixed.example/"),
            ("https://[2001:db8::1]:444/", "https://[2001:db8::1]:444/"),
        ])
    func keepsOurs(returnTo: String, location: String) {
        #expect(Self.targets.validate(returnTo)?.location == location)
    }

    @Test("an absent target means the default", arguments: [nil, ""] as [String?])
    func defaults(returnTo: String?) {
        #expect(Self.targets.validate(returnTo)?.location == "/auth/account")
    }

    @Test(
        "everything else is refused",
        arguments: [
            "//evil.example", "///evil.example", "////evil.example", "/\\evil.example", "\\\\evil.example",
            "\\/evil.example", "/\\/evil.example", "/a\\b", "https:evil.example", "https:/evil.example",
            "https:///evil.example", "https:\\\\evil.example", "http:evil", "javascript:alert(1)", "data:text/html,x",
            "ftp://id.example.com/", "//id.example.com/", "evil.example", "@evil.example", "account", "?x", "#x", ".",
            "./x", "../x",
            "JaVaScRiPt:alert(1)", "vbscript:x", "file:///etc/passwd", "about:blank", "*", "login", "https://?",
            "/.%2e/evil", "/a/../..//evil.example", "/./%2fevil.example", "/a\r\n\r\n<script>",
            "https://app.example.com:x@evil.example", "https://evil.example/?https://app.example.com",
            "https://evil.example#https://app.example.com", "https://app.example.com%2f@evil.example",
            "https://app.example.com%00.evil.example", "https://app.example.com:443@evil.example",
            // What browsers drop or trim, in front and in the middle.
            "\t//evil.example", " //evil.example", "/\t/evil.example", "/\n/evil.example", "\n//evil.example",
            "/notes\r\nSet-Cookie: x=1", "/notes\nX: y", "/notes\u{0}", "/a b", "/notes\u{7F}", " /notes", "/notes ",
            // Decoded on the way.
            "%2f%2fevil.example", "/%2fevil.example", "/%2Fevil.example", "/%5cevil.example", "/%5Cevil.example",
            "/%0d%0aSet-Cookie:x", "/x?y=%0d%0aSet-Cookie:z", "/%00", "/%", "/%2", "/%zz", "/x/%",
            // Dot segments move the path.
            "/..", "/../x", "/a/../b", "/./x", "/a/.", "/%2e%2e/x", "/a/%2E./b", "/..//evil.example", "/a%2f..%2fb",
            // Userinfo, look-alikes, suffixes, ports.
            "https://id.example.com@evil.example/", "https://user:pass@id.example.com/", "https://@id.example.com/",
            "https://id.example.com%40evil.example/", "https://id.example.com%2eevil.example/",
            "https://id.example.com.evil.example/", "https://evilid.example.com/", "https://example.com/",
            "https://sub.app.example.com/", "https://app.example.com./", "https://app.example.com\\@evil.example/",
            "https://app.example.com\\.evil.example", "https://app.example.com:/", "https://app.example.com:444/",
            "https://app.example.com:0443/x:y@", "https://app.example.com:65979/", "https://app.example.com:+443/",
            "https://app.example.com:٤٤٣/", "https://admin.example.com/", "https://admin.example.com:08443:1/",
            "http://app.example.com/", "http://id.example.com/", "https://localhost:3000/", "http://localhost/",
            "https://bad.example/", "https://path.example/", "https:// app.example.com/",
            // Hosts have no letters of other scripts; full-width signs are not separators.
            "https://аpp.example.com/", "https://app。example.com/", "https://app.example.com／evil",
            "https://ｉd.example.com/", "／／evil.example", "https：//evil.example",
            "https://[2001:db8::1]/", "https://[2001:db8::2]:444/", "https://[2001:db8::1:444/", "https://[::1]x:444/",
            "https://", "https:///", "://id.example.com", "https://app.example.com//evil.example",
            "https://app.example.com/../x",
        ])
    func refusesOthers(returnTo: String) {
        #expect(Self.targets.validate(returnTo) == nil)
    }

    @Test("length is bounded, and counted after escaping, which triples non-ASCII bytes")
    func boundsLength() {
        let longest = "/" + String(repeating: "a", count: ReturnTargets.maximumLength - 1)
        #expect(Self.targets.validate(longest)?.location == longest)
        #expect(Self.targets.validate(longest + "a") == nil)
        let escaped = "/" + String(repeating: "é", count: 333) + "a"
        #expect(Self.targets.validate(escaped)?.location.utf8.count == 2_000)
        #expect(Self.targets.validate(escaped + "a") == nil)
        #expect(Self.targets.validate("https://app.example.com/" + String(repeating: "é", count: 400)) == nil)
    }
}
