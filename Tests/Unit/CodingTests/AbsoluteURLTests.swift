import Coding
import Testing

@Suite struct AbsoluteURLTests {
    /// Examples of RFC 3986 §1.1.2 and §3, and of the WHATWG URL standard.
    @Test(
        arguments: [
            ("http://www.ietf.org/rfc/rfc2396.txt", "http://www.ietf.org", "www.ietf.org", nil, "/rfc/rfc2396.txt"),
            (
                "http://example.com:8042/over/there?name=ferret#nose", "http://example.com:8042", "example.com", "8042",
                "/over/there?name=ferret#nose"
            ),
            (
                "https://[2001:db8::7]/c=GB?objectClass?one", "https://[2001:db8::7]", "[2001:db8::7]", nil,
                "/c=GB?objectClass?one"
            ),
            ("https://[::1]:8443", "https://[::1]:8443", "[::1]", "8443", ""),
            ("https://example.com?", "https://example.com", "example.com", nil, "?"),
            ("https://example.com#a/b", "https://example.com", "example.com", nil, "#a/b"),
            ("https://example.com:", "https://example.com:", "example.com", "", ""),
            ("https://EXAMPLE.com/../x", "https://EXAMPLE.com", "EXAMPLE.com", nil, "/../x"),
            ("https://a//b", "https://a", "a", nil, "//b"),
        ] as [(String, String, String, String?, String)])
    func isSplitByTheStandard(
        text: String, origin: String, host: String, port: String?, rest: String
    ) throws {
        let url = try #require(AbsoluteURL(text))
        let parts = try #require(url.hostAndPort)
        #expect(url.origin == origin)
        #expect(parts.host == host)
        #expect(parts.port.map { String($0) } == port)
        #expect(url.rest == rest)
        #expect(url.hasPlainAuthority)
        #expect(url.defaultPort == (text.hasPrefix("https") ? 443 : 80))
    }

    @Test(arguments: [
        "", "/", "//example.com/", "example.com", "https:", "https:/example.com", "https://", "https:///path",
        "http://?q",
        "HTTPS://example.com", "ftp://ftp.is.co.za/rfc/rfc1808.txt", "ldap://[2001:db8::7]/", "mailto:a@b.example",
        "javascript://example.com/%0aalert(1)", " https://example.com", "https:\\\\example.com",
        "https://\u{301}example.com",
    ])
    func refusesOtherTexts(text: String) {
        #expect(AbsoluteURL(text) == nil)
    }

    /// What readers of URLs have read in two ways.
    @Test(arguments: [
        "https://user@example.com", "https://example.com\\@evil.example/", "https://example.com%2f@evil.example/",
        "https://exa mple.com/", "https://example.com\t.evil.example/", "https://\u{fb01}.example", "https://a,b",
        "https://user:pass@example.com:80",
    ])
    func unusualAuthorityIsDetected(text: String) {
        #expect(AbsoluteURL(text)?.hasPlainAuthority == false)
    }

    @Test(arguments: [
        "https://:80", "https://a:80:90", "https://[::1", "https://[::1]x", "https://[::1]8443", "https://a[b]",
        "https://a]",
        "https://[::1]:80:90", "https://x[::1]:80",
    ])
    func bracketsAndColonsAreWhereTheyMayBe(text: String) throws {
        #expect(try #require(AbsoluteURL(text)).hostAndPort == nil)
    }
}

@Suite struct BigEndianTests {
    @Test func theMostSignificantByteIsFirst() {
        #expect([UInt8](bigEndian: UInt32(0x0102_0304)) == [1, 2, 3, 4])
        #expect([UInt8](bigEndian: UInt16(0xFFFE)) == [0xFF, 0xFE])
        #expect([UInt8](bigEndian: Int64(-2)) == [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE])
        #expect(UInt32(bigEndianBytes: [1, 2, 3, 4]) == 0x0102_0304)
        #expect(Int64(bigEndianBytes: [UInt8](bigEndian: Int64.min)) == .min)
        #expect(Int64(bigEndianBytes: [0x80, 0]) == 0x8000)
        #expect(UInt16(bigEndianBytes: []) == 0)
    }
}
