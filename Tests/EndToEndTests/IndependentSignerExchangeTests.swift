import AppleSimulator
import Coding
import Foundation
import Testing

// The token that the token endpoint answers with.
extension IdentityTokenValidation {
    // MARK: 17: the token endpoint's token

    @Test(arguments: ["iss", "aud", "sub", "exp", "iat", "nonce", "atHash", "signature", "kid", "noKid", "algNone"])
    func flawedTokenOfTheTokenEndpointMakesNoSession(flaw: String) async throws {
        try await withSite { (site: Site) async throws in
            let browser = site.browser()
            let form = try await browser.consent()
            try await site.apple.control("PUT", "tokens", ["on": "token", "wrong": [.string(flaw)]])
            let response = try await browser.postCallback(form)
            #expect([400, 503].contains(response.status))
            #expect(browser.sessionToken == nil)
            #expect(try await site.count("session") == 0)
        }
    }

    @Test(arguments: ["noNonce", "noATHash"])
    func tokenEndpointMayLeaveOut(what: String) async throws {
        try await withSite { (site: Site) async throws in
            try await site.apple.control("PUT", "tokens", ["on": "token", "wrong": [.string(what)]])
            #expect(try await site.browser().signIn().status == 303)
        }
    }

    @Test(arguments: ["noCHash", "cHash", "noNonce", "nonce", "aud", "iss", "sub"])
    func flawedTokenBesideTheCodeMakesNoSession(flaw: String) async throws {
        try await withSite { (site: Site) async throws in
            try await site.apple.control("PUT", "tokens", ["on": "authorize", "wrong": [.string(flaw)]])
            let browser = site.browser()
            #expect([400, 503].contains(try await browser.postCallback(browser.consent()).status))
            #expect(try await site.count("session") == 0)
        }
    }
}
