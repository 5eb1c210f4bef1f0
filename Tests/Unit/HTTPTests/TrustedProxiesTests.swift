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
    func realIP_countsWithoutForwardedFor(_ lines: [String], _ expected: String) throws {
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
        #expect(try read(["X-Forwarded-Host:App.Example.COM:8443"], .forwarded).host == "app.example.com:8443")
        #expect(try read(["X-Original-URL:https://App.example/A"], .original).host == "app.example")
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
        #expect(throws: OriginalRequest.Refusal.duplicated("X-Original-URL, X-Original-URI")) {
            try read(["X-Original-URL:https://h/", "X-Original-URI:/"], .original)
        }
    }

    @Test func theOtherFamilyAndUntrustedPeers_areIgnored() throws {
        let nothing = try read([], .forwarded)
        #expect(try read(forwarded, .original) == read([], .original))
        #expect(try read(["X-Original-URL:https://h/"], .forwarded) == nothing)
        #expect(try read(forwarded + forwarded, .forwarded, trusted: false) == nothing)
        #expect(nothing.host == nil && nothing.target == nil && nothing.scheme == nil && nothing.method == nil)
    }

    @Test(arguments: [
        "X-Forwarded-Proto:https", "X-Forwarded-Host:h", "X-Forwarded-Uri:/", "X-Forwarded-Method:GET",
    ])
    func duplicates_areRefused(_ line: String) {
        let field = line.prefix { $0 != ":" }.lowercased()
        #expect { try read([line, line], .forwarded) } throws: { error in
            guard case .duplicated(let name)? = error as? OriginalRequest.Refusal else { return false }
            return name.lowercased() == field
        }
    }

    @Test(arguments: [
        "X-Forwarded-Proto:", "X-Forwarded-Proto:https,http", "X-Forwarded-Proto:ftp", "X-Forwarded-Host:",
        "X-Forwarded-Host:a,b", "X-Forwarded-Host:u@h", "X-Forwarded-Host:h/x", "X-Forwarded-Host:h:",
        "X-Forwarded-Host:h:99999", "X-Forwarded-Host:a b", "X-Forwarded-Method:", "X-Forwarded-Method:G T",
        "X-Forwarded-Method:GET, POST",
    ])
    func oddValues_areRefusedByTheirField(_ line: String) {
        let field = line.prefix { $0 != ":" }.lowercased()
        #expect { try read([line], .forwarded) } throws: { error in
            guard case .notCanonical(let name)? = error as? OriginalRequest.Refusal else { return false }
            return name.lowercased() == field
        }
    }

    @Test(arguments: [
        ("X-Forwarded-Proto:HTTPS", "https"), ("X-Forwarded-Proto:ws", "http"), ("X-Forwarded-Proto:wss", "https"),
    ])
    func schemesOfProxies_areRead(_ line: String, _ scheme: String) throws {
        #expect(try read([line], .forwarded).scheme == scheme)
    }

    /// The path is a fault only for rules that need it: the address itself stays for the way back.
    @Test(arguments: [
        ("", false), ("a", false), ("https://h/", false), ("/a b", false), ("/\u{e9}", false), ("/a#b", true),
        ("/a/../b", true), ("/%2e%2e/b", true), ("/a%2fb", true), ("/a%00", true), ("/a%zz", true), ("/a\\b", true),
        ("/a|b", true), ("/caf%E9", true),
    ])
    func ambiguousPaths_areRefused(_ target: String, _ isKept: Bool) throws {
        let request = try read(["X-Forwarded-Uri:" + target], .forwarded)
        #expect(request.targetFault == .notCanonical("X-Forwarded-Uri"))
        #expect(request.target == (isKept ? target : nil))
    }

    @Test func aMissingPath_isNamed() throws {
        #expect(try read([], .forwarded).targetFault == .incomplete("X-Forwarded-Uri"))
        #expect(try read([], .original).targetFault == .incomplete("X-Original-URL"))
        #expect(try read(["X-Forwarded-Uri:/a"], .forwarded).targetFault == nil)
    }

    @Test(arguments: [
        "", "h/a", "//h/a", "ftp://h/", "https:/h", "https://", "https:///a", "https://u@h/",
        "HTTPS://h/", "https://h\\@evil/",
    ])
    func oddOriginalURLs_areRefused(_ url: String) {
        if url == "//h/a" {
            // An origin-form path whose first segment is empty: the site's own business, and no host.
            #expect((try? read(["X-Original-URL:" + url], .original))?.host == .some(nil))
            return
        }
        #expect(throws: OriginalRequest.Refusal.notCanonical("X-Original-URL")) {
            try read(["X-Original-URL:" + url], .original)
        }
    }
}
