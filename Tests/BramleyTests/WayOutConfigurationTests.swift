import Bramley
import HTTP
import Testing

/// `HTTPS_PROXY` and `NO_PROXY`, which are no keys of ours and yet part of the configuration.
struct WayOutConfigurationTests {
    @Test func thereIsNoProxyUnlessTheEnvironmentNamesOne() throws {
        let fixture = try ConfigurationFixture()
        #expect(try fixture.load().configuration.wayOut == .direct)
        #expect(try fixture.load(environment: ["HTTPS_PROXY": ""]).configuration.wayOut == .direct)
        #expect(try fixture.load(environment: ["HTTP_PROXY": "http://proxy"]).configuration.wayOut == .direct)
    }

    @Test func theEnvironmentNamesItAndItsExceptions() throws {
        let wayOut = try ConfigurationFixture().load(environment: [
            "HTTPS_PROXY": "http://user:secret@proxy.example:3128", "NO_PROXY": "example.com",
        ]).configuration.wayOut
        #expect(wayOut.server?.description == "proxy.example:3128")
        #expect(wayOut.server(for: try #require(ClientURL("https://appleid.apple.com/auth"))) != nil)
        #expect(wayOut.server(for: try #require(ClientURL("https://hooks.example.com/"))) == nil)
        #expect(!"\(wayOut)".contains("secret"))
    }

    @Test(arguments: [
        "https://proxy.example", "socks5://proxy.example", "http://u:secret%zz@proxy", "http://", "http://p/x",
    ])
    func whatCannotBeUsedIsAnErrorThatHoldsNoPassword(value: String) throws {
        let problems = try ConfigurationFixture().problems(environment: ["https_proxy": value])
        #expect(problems.map(\.severity) == [.error], "\(problems)")
        #expect(problems.first?.description.hasPrefix("error: https_proxy: cannot be used: ") == true, "\(problems)")
        #expect(problems.first?.description.contains("secret") == false)
    }
}
