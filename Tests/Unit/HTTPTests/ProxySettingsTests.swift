import HTTP
import Testing

/// `HTTPS_PROXY` and `NO_PROXY`, read from a value.
@Suite struct ProxySettingsTests {
    @Test(
        arguments: [
            ("http://proxy.example:3128", "proxy.example:3128"), ("http://proxy.example:3128/", "proxy.example:3128"),
            ("HTTP://Proxy.Example:3128", "proxy.example:3128"), ("proxy.example:3128", "proxy.example:3128"),
            ("http://proxy.example", "proxy.example:80"), ("http://192.0.2.1:8080", "192.0.2.1:8080"),
            ("http://[2001:db8::1]:8080", "[2001:db8::1]:8080"), ("http://user:pass@proxy:1", "proxy:1"),
            ("user@proxy:1", "proxy:1"), ("http://user:p@ss@proxy:1", "proxy:1"),
            ("http://us%65r:%3A%40%2f@proxy:1", "proxy:1"),
        ])
    func urlIsRead(text: String, server: String) throws {
        let settings = try ProxySettings(environment: ["HTTPS_PROXY": text])
        #expect(settings.server?.description == server)
    }

    @Test(
        arguments: [
            ("https://proxy:443", .scheme), ("socks5://proxy:1080", .scheme), ("http://", .address),
            ("http://proxy:0", .address), ("http://proxy:65536", .address), ("http://proxy:", .address),
            ("http://proxy:http", .address), ("http://:3128", .address), ("http://pro xy:1", .blanks),
            ("http://proxy\r\n:1", .blanks), ("http://pr%6Fxy:1", .address), ("http://[::1", .address),
            ("http://[192.0.2.1]:1", .address), ("http://proxy:1/path", .path), ("http://proxy:1?q", .path),
            ("http://proxy:1#f", .path), ("http://@proxy:1", .credentials), ("http://:pass@proxy:1", .credentials),
            ("http://us%3Aer:pass@proxy:1", .credentials), ("http://user:%zz@proxy:1", .credentials),
            ("http://user:%4@proxy:1", .credentials), ("http://user:%0d%0a@proxy:1", .credentials),
        ] as [(String, ProxySettingsError.Cause)])
    func urlIsRefused(text: String, cause: ProxySettingsError.Cause) {
        #expect(throws: ProxySettingsError(variable: "https_proxy", cause: cause)) {
            try ProxySettings(environment: ["https_proxy": text])
        }
    }

    @Test func lowerCaseTakesPrecedence_AndEmptyIsUnset() throws {
        let both = ["https_proxy": "http://a:1", "HTTPS_PROXY": "http://b:2"]
        #expect(try ProxySettings(environment: both).server?.host == "a")
        #expect(try ProxySettings(environment: ["https_proxy": "", "HTTPS_PROXY": "http://b:2"]).server?.host == "b")
        #expect(try ProxySettings(environment: ["https_proxy": "", "HTTPS_PROXY": ""]).server == nil)
        // Any client of a CGI server can set it, and it is not about https.
        #expect(try ProxySettings(environment: ["HTTP_PROXY": "http://c:3", "http_proxy": "http://c:3"]).server == nil)
    }

    @Test func credentialsAreNeverPrinted() throws {
        let settings = try ProxySettings(environment: ["HTTPS_PROXY": "http://ada:hush@proxy:1"])
        var dumped = ""
        dump(settings, to: &dumped)
        for text in ["\(settings)", String(reflecting: settings), dumped] {
            #expect(!text.contains("hush"))
            #expect(!text.contains("ada"))
        }
        #expect(dumped.contains("<redacted>"))
        let error = #expect(throws: ProxySettingsError.self) {
            try ProxySettings(environment: ["HTTPS_PROXY": "http://ada:hush%@proxy:1"])
        }
        #expect("\(try #require(error))".contains("HTTPS_PROXY cannot be used"))
        #expect(!"\(try #require(error))".contains("hush"))
    }

    @Test(
        arguments: [
            ("", "apple.com", 443, false), ("*", "apple.com", 443, true), ("apple.com", "apple.com", 443, true),
            ("apple.com", "appleid.apple.com", 443, true), ("apple.com", "pineapple.com", 443, false),
            ("apple.com", "apple.com.evil.example", 443, false), (".apple.com", "appleid.apple.com", 443, true),
            (".apple.com", "apple.com", 443, true), ("*.apple.com", "appleid.apple.com", 443, true),
            ("APPLE.com", "Apple.COM", 443, true), ("apple.com.", "apple.com", 443, true),
            ("apple.com", "apple.com.", 443, true), ("a, b ,apple.com", "apple.com", 443, true),
            ("a b apple.com", "apple.com", 443, true), ("apple.com:443", "apple.com", 443, true),
            ("apple.com:8443", "apple.com", 443, false), ("10.0.0.0/8", "10.1.2.3", 443, true),
            ("10.0.0.0/8", "11.1.2.3", 443, false), ("10.1.2.3", "10.1.2.3", 443, true),
            ("10.1.2.3:8443", "10.1.2.3", 443, false), ("10.1.2.3:8443", "10.1.2.3", 8443, true),
            ("2001:db8::/32", "2001:db8::7", 443, true), ("2001:db8::7", "2001:db8::7", 443, true),
            ("[2001:db8::7]:443", "2001:db8::7", 443, true), ("10.0.0.0/8", "::ffff:10.1.2.3", 443, true),
            // A name is never looked up for this, and an address has no domain.
            ("10.0.0.0/8", "ten.example", 443, false), ("3", "10.1.2.3", 443, false),
            ("", "localhost", 443, true), ("", "app.localhost", 443, true), ("", "127.0.0.1", 443, true),
            ("", "127.9.9.9", 443, true), ("", "::1", 443, true), ("", "notlocalhost", 443, false),
        ] as [(String, String, UInt16, Bool)])
    func exception(rules: String, host: String, port: UInt16, isDirect: Bool) {
        #expect(ProxyExceptions(rules).contains(host: host, port: port) == isDirect)
    }

    @Test func onlyHTTPSGoesThroughTheProxy() throws {
        let settings = try ProxySettings(environment: ["HTTPS_PROXY": "http://p:1", "NO_PROXY": "inner.example"])
        let answers = ["https://a.example/", "http://a.example/", "https://x.inner.example/", "https://localhost/"]
            .map { ClientURL($0).flatMap { settings.server(for: $0) }?.description }
        #expect(answers == ["p:1", nil, nil, nil])
    }
}
