import AppleSimulator
import Testing

/// The harness itself: if these fail, look here first.
struct HarnessTests {
    @Test func aWholeSignInWorks() async throws {
        try await withSite { (site: Site) async throws in
            let browser = site.browser()
            let response = try await browser.signIn(as: "ada")
            #expect(response["location"] == "/account")
            let session = try await browser.session()
            #expect(session?["user"]?["email"]?.string == "ada@example.com")
            #expect(session?["user"]?["name"]?["given"]?.string == "Ada")
            #expect(try await site.count("session") == 1)
        }
    }

    @Test func aSessionOutlivesARestart() async throws {
        try await withSite { (site: Site) async throws in
            let browser = site.browser()
            try await browser.signIn(as: "boris")
            try await site.restart()
            #expect(try await browser.session() != nil)
            #expect(try await browser.verify().status == 204)
        }
    }
}
