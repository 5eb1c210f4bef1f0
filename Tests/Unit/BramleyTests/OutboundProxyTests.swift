import Bramley
import HTTP
import Testing

/// `HTTPS_PROXY` and `NO_PROXY`, which are part of the configuration, but not keys.
struct OutboundProxyTests {
    @Test func thereIsNoProxyUnlessTheEnvironmentNamesOne() throws {
        let fixture = ConfigurationFixture()
        #expect(try fixture.load().configuration.outboundProxy == .direct)
        #expect(try fixture.load(environment: ["HTTPS_PROXY": ""]).configuration.outboundProxy == .direct)
        #expect(try fixture.load(environment: ["HTTP_PROXY": "http://proxy"]).configuration.outboundProxy == .direct)
    }

    @Test func theEnvironmentNamesItAndItsExceptions() throws {
        let outboundProxy = try ConfigurationFixture().load(environment: [
            "HTTPS_PROXY": "http://user:secret@proxy.example:3128", "NO_PROXY": "example.com",
        ]).configuration.outboundProxy
        #expect(outboundProxy.server?.description == "proxy.example:3128")
        #expect(outboundProxy.server(for: try #require(ClientURL("https://appleid.apple.com/auth"))) != nil)
        #expect(outboundProxy.server(for: try #require(ClientURL("https://hooks.example.com/"))) == nil)
        #expect(!"\(outboundProxy)".contains("secret"))
    }

    @Test(arguments: [
        "http://proxy.example:31 28", "http://proxy.example\n:3128",
        "https://proxy.example", "socks5://proxy.example", "http://u:secret%zz@proxy", "http://", "http://p/x",
    ])
    func unusableProxyIsAnErrorWithoutThePassword(value: String) throws {
        let problems = try ConfigurationFixture().problems(environment: ["https_proxy": value])
        #expect(problems.map(\.severity) == [.error], "\(problems)")
        #expect(problems.first?.description.hasPrefix("error: https_proxy: cannot be used: ") == true, "\(problems)")
        #expect(problems.first?.description.contains("secret") == false)
    }
}
