import AppleSimulator
import Coding
import Foundation
import Testing

// The token that the token endpoint answers with.
extension IdentityTokenValidation {
    // MARK: 17: the token endpoint's token

    @Test(arguments: ["signature", "kid", "noKid", "algNone"])
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
}
