import Coding
import HTTP
import HTTPTypes
import Stores
import Testing
import Web

@testable import Accounts

@Suite struct ExistingAccountTests {
    private func asked(_ site: LinkSite) async throws -> ServerResponse {
        try await site.callback(await site.get("/login?return_to=/x", site.browser()))
    }

    private func answer(
        _ site: LinkSite, _ page: ServerResponse, _ choice: String, binding: String = LinkSite.binding
    ) async throws -> ServerResponse {
        let waiting = try #require(page.hidden("waiting"))
        return await site.post(
            "/login/existing", form: [("waiting", waiting), ("choice", choice)], site.browser(binding))
    }

    @Test("A new person is asked, and one user is created by the answer")
    func new() async throws {
        let site = try LinkSite(asksExisting: true)
        let page = try await asked(site)
        #expect(page.status == .ok)
        #expect(page.text.contains("Already have an account?") && page.text.contains("<bdi>ada@example.com</bdi>"))
        #expect(page.policy.contains("form-action 'self' https://app.example.com https://accounts.example.org;"))
        #expect(page.fields[.referrerPolicy] == "same-origin" && page.fields[.cacheControl] == "no-store")
        #expect(page.setCookies.contains { $0.hasPrefix("__Host-bramley-login=\(LinkSite.binding);") })
        #expect(!page.setCookies.contains { $0.hasPrefix("__Host-bramley=") })
        #expect(try await answer(site, page, "new", binding: LinkSite.otherBinding).status == .notFound)
        let done = try await answer(site, page, "new")
        #expect(done.location == "/x")
        #expect(done.setCookies.contains { $0.hasPrefix("__Host-bramley=brs_") })
        let later = try await site.callback(await site.get("/login", site.browser()), code: "c2")
        #expect(later.status == .seeOther)
    }

    @Test("A person with an account continues there with a ticket, and connects in this browser with one button")
    func connect() async throws {
        let site = try LinkSite(asksExisting: true)
        let key = try await site.key()
        let sent = try await answer(site, try await asked(site), "connect")
        #expect(sent.status == .seeOther)
        let ticket = try #require(sent.parameter("ticket"))
        #expect(sent.location == "https://accounts.example.org/in?a=1&ticket=\(ticket)#f")
        let link = try await site.link(ticket: ticket, key: key)
        let page = await site.get(link.url, site.browser())
        #expect(page.text.contains("<form method=\"post\" action=\"\(link.page)\">"))
        #expect(page.text.contains("ada@orchard") && page.text.contains("ada@example.com"))
        #expect(!page.text.contains("<script") && !page.policy.contains("script-src"))
        // Another browser is refused, without a name.
        let other = await site.get(link.url, site.browser(LinkSite.otherBinding))
        #expect(other.status == .badRequest && !other.text.contains("appleid-signin-state"))
        #expect(!other.text.contains("ada@example.com"))
        #expect(await site.post(link.page, site.browser(LinkSite.otherBinding)).location == link.page)
        let done = await site.post(link.page, site.browser())
        let code = try #require(done.parameter("code"))
        #expect(done.location == "https://app.example.com/done?x=1&link=\(link.id)&code=\(code)#f")
        let completed = await site.complete(link.id, code, key)
        #expect(completed.json?["user"]?.objectValue?["appleSubject"]?.stringValue == "ada")
    }

    @Test("Another browser that opens the link first shows Apple's button and no name")
    func elsewhere() async throws {
        let site = try LinkSite(asksExisting: true)
        let key = try await site.key()
        let sent = try await answer(site, try await asked(site), "connect")
        let link = try await site.link(ticket: sent.parameter("ticket"), key: key)
        let other = await site.get(link.url, site.browser(LinkSite.otherBinding))
        _ = try site.attempt(other)
        #expect(!other.text.contains("ada@example.com"))
        #expect(await site.post(link.page, site.browser()).status == .badRequest)
    }

    @Test("The question about an existing account is answered only by the browser that was asked")
    func refusals() async throws {
        let site = try LinkSite(asksExisting: true)
        let page = try await asked(site)
        #expect(try await answer(site, page, "else").status == .badRequest)
        let nobody = await site.post(
            "/login/existing", form: [("waiting", "wai_00000000000000000000000000"), ("choice", "new")], site.browser())
        #expect(nobody.status == .gone || nobody.status == .notFound)
        #expect(nobody.text.contains("class=\"button primary\""))
        site.clock.advance(seconds: 600)
        let late = try await answer(site, page, "new")
        #expect(late.status == .gone && late.text.contains("href=\"/login\""))
        let unlisted = try LinkSite(asksExisting: true, adjust: { $0.login.passwordURL = nil })
        #expect(try await answer(unlisted, try await asked(unlisted), "connect").status == .notFound)
    }
}
