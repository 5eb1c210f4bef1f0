import AppleSimulator
import Coding
import Foundation
import Testing

/// The daily check through the running server: a revocation of which no notification came.
@Suite struct CredentialCheckEndToEndTests {
    private static let patience = Duration.seconds(30)
    /// Past every first check.
    private static let twoDays: Int64 = 2 * 86_400

    private func revokeSilently(_ site: Site, _ person: String) async throws {
        try await site.apple.control("POST", "consents/revoke", ["person": .string(person)])
    }

    @Test(
        "a person who withdrew consent is signed out within the day, and nobody else",
        arguments: ["invalid_grant", "invalid_request"])
    func lostNotification(error: String) async throws {
        try await withSite { (site: Site) async throws in
            try await site.apple.control("PUT", "behaviour", ["errorAfterRevocation": .string(error)])
            let (ada, boris) = (site.browser(), site.browser())
            try await ada.signIn(as: "ada")
            try await boris.signIn(as: "boris")
            try await revokeSilently(site, "ada")
            #expect(try await ada.verify().status == 204)
            site.clock.advance(seconds: Self.twoDays)
            try await eventually(within: Self.patience, "ada is signed out") {
                try await ada.verify().status == 401
            }
            #expect(try await site.query("SELECT cause FROM event WHERE type = 'session.ended'") == "token_dead")
            #expect(try await boris.verify().status == 204)
            #expect(try await site.count("user") == 2)
            #expect(site.log.text.contains("credential revoked at Apple"))
            let subject = try await site.apple.subject(of: "ada")
            for secret in [subject, "ada@example.com", "r.secret"] { #expect(!site.log.text.contains(secret)) }
            // Asked once a person, whatever the clock's next hours bring.
            try await eventually(within: Self.patience, "boris was asked about") {
                try await site.query("SELECT coalesce(sum(alive), 0) FROM credential_check") == "1"
            }
            let asked = try await site.apple.requests(to: "token")
            try await site.restart()
            site.clock.advance(seconds: 3_600)
            try await ada.signIn(as: "ada")
            #expect(try await ada.verify().status == 204)
            // The exchange of this sign-in, and nothing else.
            #expect(try await site.apple.requests(to: "token") == asked + 1)
        }
    }

    @Test("an outage or wrong answers of Apple change nothing, and checks resume afterwards")
    func appleIsDown() async throws {
        try await withSite { (site: Site) async throws in
            let ada = site.browser()
            try await ada.signIn(as: "ada")
            try await revokeSilently(site, "ada")
            try await site.apple.control("PUT", "faults/token", ["status": 503])
            site.clock.advance(seconds: Self.twoDays)
            try await eventually(within: Self.patience, "a check failed") {
                try await site.query("SELECT check_failures FROM apple_credential") == "1"
            }
            #expect(try await ada.verify().status == 204)
            #expect(site.log.text.contains("provider_unavailable"))
            try await site.apple.control("DELETE", "faults")
            site.clock.advance(seconds: 2 * 3_600)
            try await eventually(within: Self.patience, "ada is signed out") {
                try await ada.verify().status == 401
            }
        }
    }
}
