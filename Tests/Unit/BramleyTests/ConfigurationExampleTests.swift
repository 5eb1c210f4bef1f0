import AppleID
import Foundation
import HTTP
import Logging
import Sockets
import Testing
import Web

@testable import Accounts
@testable import Bramley

struct ConfigurationExampleTests {
    @Test func exampleIsAGoodConfiguration() throws {
        let fixture = ConfigurationFixture()
        let example = try text(ofFile: "config.example.json")
        let path = try fixture.write(example, to: "config.json")
        let loaded = try ConfigurationLoader.load(
            // The example names a key file that everybody has to bring along.
            ConfigurationInput(path: path, flags: ["--apple-private-key-file", fixture.keyPath]))
        #expect(loaded.warnings.isEmpty)
        let configuration = loaded.configuration
        #expect(configuration.web.publicURL.callbackURL == "https://id.example.com/apple/callback")
        #expect(configuration.web.signIn.signUp == .open)
        #expect(configuration.apple.scopes == ["name", "email"])
        #expect(configuration.server.trustedProxies.map(\.description) == ["127.0.0.1/32"])
        #expect(configuration.web.login.allowedReturnOrigins == ["https://www.example.com"])
        #expect(configuration.web.site.name == "Example")
        #expect(!configuration.apple.isSimulated)
    }

    @Test func defaultsHoldWhereTheFileIsSilent() throws {
        let configuration = try ConfigurationFixture().load(["server": [String: Any]()]).configuration
        #expect(configuration.server.listener.ip.description == "127.0.0.1")
        #expect(configuration.server.listener.port == 8080)
        #expect(configuration.admin.port == 9090)
        #expect(configuration.server.trustedProxies.isEmpty)
        #expect(configuration.server.limits.wire.requestLine == 8192)
        #expect(configuration.server.limits.timeouts.idle == 60_000)
        #expect(configuration.server.limits.credentialChecks == 20)
        #expect(configuration.apple.issuers == ["https://appleid.apple.com"])
        #expect(configuration.apple.endpoint == "https://appleid.apple.com")
        #expect(
            configuration.web.apple.scriptURL
                == "https://appleid.cdn-apple.com/appleauth/static/jsapi/appleid/1/{locale}/appleid.auth.js")
        #expect(configuration.apple.onAccountDeleted == .erase)
        #expect(configuration.web.signIn.attemptLifetime == 600)
        #expect(configuration.web.login.defaultReturnTo == "/account")
        #expect(configuration.web.sessionLimits == SessionLimits(lifetime: 2_592_000, idleTimeout: 1_209_600))
        #expect(configuration.web.sessionLimits.perUser == 100)
        #expect(configuration.web.cookieDomain == nil)
        #expect(configuration.web.button.width == 280)
        #expect(configuration.web.site.name == "id.example.com")
        #expect([configuration.logLevel.rawValue, configuration.logFormat.rawValue] == ["info", "json"])
        guard case .file(let path) = configuration.secrets.sealingKey else {
            Issue.record("the sealing key is no file")
            return
        }
        #expect(path == configuration.storage.directory + "/sealing.key")
    }
}
