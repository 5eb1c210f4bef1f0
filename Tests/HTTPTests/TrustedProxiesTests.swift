import HTTP
import HTTPTypes
import Sockets
import Testing

private func fields(_ lines: [String]) -> HTTPFields {
    var result = HTTPFields()
    for line in lines {
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let name = HTTPField.Name(String(parts[0])) else { continue }
        result.append(HTTPField(name: name, value: String(parts[1])))
    }
    return result
}

@Suite struct TrustedProxiesTests {
    private let proxies = TrustedProxies(["10.0.0.0/8", "2001:db8::/32", "::1"].compactMap { IPNetwork($0) })

    @Test(arguments: [
        ("192.0.2.1", ["198.51.100.7"], "192.0.2.1"), ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.7"], "198.51.100.7"), ("10.0.0.1", ["1.1.1.1, 198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["1.1.1.1, 198.51.100.7, 10.9.9.9"], "198.51.100.7"),
        ("10.0.0.1", ["1.1.1.1", "198.51.100.7", "10.9.9.9"], "198.51.100.7"),
        ("10.0.0.1", ["10.1.1.1, 10.2.2.2"], "10.1.1.1"), ("10.0.0.1", ["198.51.100.7, unknown"], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.7, junk, 10.9.9.9"], "10.9.9.9"), ("10.0.0.1", ["198.51.100.7,"], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.7:4711"], "198.51.100.7"), ("10.0.0.1", ["[2001:dead::1]:4711"], "2001:dead::1"),
        ("10.0.0.1", ["[2001:dead::1]"], "2001:dead::1"), ("10.0.0.1", ["[1.2.3.4]"], "10.0.0.1"),
        ("10.0.0.1", ["1.2.3.4:"], "10.0.0.1"), ("10.0.0.1", ["1.2.3.4:x"], "10.0.0.1"),
        ("10.0.0.1", ["  1.2.3.4\t "], "1.2.3.4"), ("10.0.0.1", ["1.2.3.4 5"], "10.0.0.1"),
        ("::ffff:10.0.0.1", ["::ffff:198.51.100.7"], "198.51.100.7"), ("2001:db8::1", ["192.0.2.9"], "192.0.2.9"),
        ("::1", ["192.0.2.9, 2001:db8::7"], "192.0.2.9"),
    ])
    func client_isTheRightmostUntrustedHop(_ peer: String, _ hops: [String], _ expected: String) throws {
        let sent = fields(hops.map { "X-Forwarded-For:" + $0 })
        let client = proxies.clientAddress(peer: try #require(IPAddress(peer)), fields: sent)
        #expect(client.description == expected)
    }

    @Test(arguments: [
        (["X-Real-IP:198.51.100.7"], "198.51.100.7"), (["X-Real-IP:10.2.2.2"], "10.2.2.2"),
        (["X-Real-IP:x"], "10.0.0.1"),
        (["X-Real-IP:"], "10.0.0.1"),
        // Whoever reports hops means those.
        (["X-Real-IP:1.1.1.1", "X-Forwarded-For:198.51.100.7"], "198.51.100.7"),
        (["X-Real-IP:1.1.1.1", "X-Forwarded-For:junk"], "10.0.0.1"),
        (["X-Real-IP:1.1.1.1", "X-Forwarded-For:"], "10.0.0.1"),
    ])
    func realIP_countsWhereNoHopsAreReported(_ lines: [String], _ expected: String) throws {
        #expect(proxies.clientAddress(peer: .v4(0x0A00_0001), fields: fields(lines)).description == expected)
        #expect(proxies.clientAddress(peer: .v4(0xC000_0201), fields: fields(lines)) == .v4(0xC000_0201))
    }

    @Test func nobody_isTrustedByDefault() {
        let sent = fields(["X-Forwarded-For:1.2.3.4"])
        #expect(TrustedProxies().clientAddress(peer: .v4(0x7f00_0001), fields: sent) == .v4(0x7f00_0001))
    }
}

@Suite struct OriginalRequestTests {
    private func read(_ lines: [String], _ style: OriginalRequest.Style, trusted: Bool = true) throws -> OriginalRequest
    {
        try OriginalRequest(fields: fields(lines), style: style, isFromTrustedProxy: trusted)
    }

    private let forwarded = [
        "X-Forwarded-Proto:https", "X-Forwarded-Host:app.example.com:8443", "X-Forwarded-Uri:/a/b?c=%20{d}",
        "X-Forwarded-Method:POST",
    ]

    @Test func forwardedFamily_isRead() throws {
        let request = try read(forwarded, .forwarded)
        #expect(request.scheme == "https")
        #expect(request.host == "app.example.com:8443")
        #expect(request.target == "/a/b?c=%20{d}")
        #expect(request.method == .post)
    }

    @Test(
        arguments: [
            ("https://app.example.com/a?b", "https", "app.example.com", "/a?b"), ("http://h:1", "http", "h:1", "/"),
            ("/a?b", nil, nil, "/a?b"),
        ] as [(String, String?, String?, String)])
    func originalFamily_isRead(_ url: String, _ scheme: String?, _ host: String?, _ target: String) throws {
        let request = try read(["X-Original-URL:" + url, "X-Original-Method:GET"], .original)
        #expect(request.scheme == scheme)
        #expect(request.host == host)
        #expect(request.target == target)
        #expect(request.method == .get)
        #expect(try read(["X-Original-URI:" + url, "X-Original-Method:GET"], .original) == request)
    }

    @Test func urlAndURIAtOnce_areRefused() {
        #expect(throws: OriginalRequest.Refusal.duplicated) {
            try read(["X-Original-URL:https://h/", "X-Original-URI:/"], .original)
        }
    }

    @Test func theOtherFamilyAndUntrustedPeers_sayNothing() throws {
        let nothing = try read([], .forwarded)
        #expect(try read(forwarded, .original) == nothing)
        #expect(try read(["X-Original-URL:https://h/"], .forwarded) == nothing)
        #expect(try read(forwarded + forwarded, .forwarded, trusted: false) == nothing)
        #expect(nothing.host == nil && nothing.target == nil && nothing.scheme == nil && nothing.method == nil)
    }

    @Test(arguments: [
        "X-Forwarded-Proto:https", "X-Forwarded-Host:h", "X-Forwarded-Uri:/", "X-Forwarded-Method:GET",
    ])
    func duplicates_areRefused(_ line: String) {
        #expect(throws: OriginalRequest.Refusal.duplicated) { try read([line, line], .forwarded) }
    }

    @Test(arguments: [
        "X-Forwarded-Proto:", "X-Forwarded-Proto:HTTPS", "X-Forwarded-Proto:https,http", "X-Forwarded-Proto:ftp",
        "X-Forwarded-Host:", "X-Forwarded-Host:a,b", "X-Forwarded-Host:A.example", "X-Forwarded-Host:u@h",
        "X-Forwarded-Host:h/x", "X-Forwarded-Host:h:", "X-Forwarded-Host:h:99999", "X-Forwarded-Host:a b",
        "X-Forwarded-Uri:", "X-Forwarded-Uri:a", "X-Forwarded-Uri:https://h/", "X-Forwarded-Uri:/a b",
        "X-Forwarded-Uri:/a#b", "X-Forwarded-Uri:/a/../b", "X-Forwarded-Uri:/%2e%2e/b", "X-Forwarded-Uri:/a%2fb",
        "X-Forwarded-Uri:/a%00", "X-Forwarded-Uri:/a%zz", "X-Forwarded-Uri:/\u{e9}", "X-Forwarded-Uri:/a\\b",
        "X-Forwarded-Method:", "X-Forwarded-Method:G T", "X-Forwarded-Method:GET, POST",
    ])
    func oddValues_areRefused(_ line: String) {
        #expect(throws: OriginalRequest.Refusal.notCanonical) { try read([line], .forwarded) }
    }

    @Test(arguments: [
        "", "h/a", "//h/a", "ftp://h/", "https:/h", "https://", "https:///a", "https://H/", "https://u@h/",
        "https://h/a/./b", "https://h#a", "HTTPS://h/", "https://h\\@evil/", "https://h?a#b",
    ])
    func oddOriginalURLs_areRefused(_ url: String) {
        if url == "//h/a" {
            // An origin-form path whose first segment is empty: the site's own business, and no host.
            #expect((try? read(["X-Original-URL:" + url], .original))?.host == .some(nil))
            return
        }
        #expect(throws: OriginalRequest.Refusal.notCanonical) { try read(["X-Original-URL:" + url], .original) }
    }
}
