import Coding
import HTTP
import HTTPTypes
import Stores
import Testing
import Web

@testable import Accounts

/// What applications and the person learn of a consent: `/api/v1/users/{id}/credential` and the account page.
@Suite struct CredentialAPITests {
    @Test func documentHasEveryMember() async throws {
        let site = try Site()
        site.addUser(1)
        let withdrawn = CredentialStatus(
            state: .revoked, changedAt: site.clock.now().adding(milliseconds: 7), cause: .consentRevoked)
        site.database.update(Site.userID(1)) { $0.identityCredential = withdrawn }
        let key = site.bearer(site.makeKey([.usersRead]))
        let path = "/api/v1/users/\(Site.userID(1))/credential"
        let members =
            #""credentialState":"revoked","credentialChangedAt":"2026-09-21T14:13:20.007Z","#
            + #""credentialCause":"consent_revoked","#
        let response = await site.get(path, key)
        #expect(response.status == .ok)
        #expect(
            response.text == "{" + members + #""identities":[{"teamID":"TEAM123456","subject":"001.1","#
                + #""transferSubject":null,"# + members + #""lastSignInAt":"2026-09-21T14:13:20.000Z","#
                + #""createdAt":"2026-09-21T14:13:20.000Z","credentials":[]}]}"#)
        // The time is null when it was so before it was kept.
        site.database.update(Site.userID(1)) { $0.identityCredential.changedAt = nil }
        #expect(await site.get(path, key).json?["credentialChangedAt"] == .null)
    }

    @Test(
        arguments: [
            (CredentialState.authorized, "Given"), (.revoked, "Withdrawn"), (.notFound, "Apple Account deleted"),
            (.transferred, "Moved to another provider"),
        ])
    func accountPageSaysIt(state: CredentialState, words: String) async throws {
        let site = try Site()
        let user = site.signIn().user.id
        let status = CredentialStatus(
            state: state, changedAt: Timestamp(milliseconds: 1_700_000_000_000), cause: .consentRevoked)
        func cell() async throws -> String {
            let page = await site.get("/account", cookie: site.cookie).text
            return String(try #require(page.firstMatch(of: /<dd id="credential">(.*?)<\/dd>/)).1)
        }
        site.database.update(user) { $0.identityCredential = status }
        var text = try await cell()
        #expect(text.contains(words))
        #expect(text.contains("datetime=\"2023-11-14T22:13:20.000Z\""))
        #expect(text.contains("class=\"tag\"") == (state != .authorized))
        site.database.update(user) { $0.identityCredential.changedAt = nil }
        text = try await cell()
        #expect(text.contains(words) && !text.contains("<time"))
    }
}
