import Coding
import HTTP
import HTTPTypes
import Sockets
import Testing
import Web

@testable import Accounts

@Suite struct CookieTests {
    static let token = Site.browserToken

    @Test(
        "One well-formed session cookie signs in; duplicates and look-alikes do not",
        arguments: [
            ("__Host-bramley=\(token)", true),
            ("a=1; __Host-bramley=\(token); b=2", true),
            ("  __Host-bramley=\(token)  ", true),
            ("__Host-bramley-login=x; __Host-bramley=\(token)", true),
            ("junk; __Host-bramley=\(token)", true),
            ("a=b; bramley=x; x;;  __Host-bramley=\(token) ; __Secure-bramley=x", true),
            ("__Host-bramley=\(token);\t__Host-bramley\t=x", false),
            ("__Host-bramley2=\(token)", false),
            ("__Host-bramley=\(token.lowercased())", false),
            ("=__Host-bramley=\(token)", false),
            ("__Host-bramley=%62\(token.dropFirst())", false),
            ("__Host-bramley=\(token) x", false),
            ("__Host-bramley=\(token); __Host-bramley=\(token)", false),
            ("__Host-bramley=\(token); __Host-bramley=other", false),
            ("__Host-bramley=; __Host-bramley=\(token)", false),
            ("__Host-bramley=\(token);__Host-bramley =x", false),
            ("__Host-bramley=\"\(token)\"", false),
            ("__host-bramley=\(token)", false),
            ("__Secure-bramley=\(token)", false),
            ("bramley=\(token)", false),
            ("x__Host-bramley=\(token)", false),
            ("__Host-bramley=\(token)x", false),
            ("__Host-bramley=\(token.dropLast())", false),
            ("__Host-bramley=brk_\(token.dropFirst(4))", false),
            ("__Host-bramley", false),
            ("", false),
        ])
    func sessionCookie(_ field: String, isSignedIn: Bool) async throws {
        let site = try Site.signedIn()
        #expect(await site.get("/api/v1/session", cookie: field).status == (isSignedIn ? .ok : .unauthorized))
        #expect(await site.get("/auth/verify", cookie: field).status == (isSignedIn ? .noContent : .unauthorized))
    }

    @Test func severalCookieFieldsCountAsOne() async throws {
        let site = try Site.signedIn()
        var fields = HTTPFields()
        fields.append(HTTPField(name: .cookie, value: "a=1"))
        fields.append(HTTPField(name: .cookie, value: site.cookie))
        #expect(await site.get("/api/v1/session", fields).status == .ok)
        fields.append(HTTPField(name: .cookie, value: site.cookie))
        #expect(await site.get("/api/v1/session", fields).status == .unauthorized)
    }

    @Test func sharedDomainRenamesTheSessionCookieAndNothingElse() async throws {
        let site = try Site(adjust: { $0.cookieDomain = "example.com" })
        site.signIn()
        #expect(await site.get("/api/v1/session", cookie: "__Secure-bramley=\(Self.token)").status == .ok)
        #expect(await site.get("/api/v1/session", cookie: "__Host-bramley=\(Self.token)").status == .unauthorized)
        let out = await site.post("/logout", [.cookie: site.cookie, .origin: "https://login.example.com"])
        #expect(
            out.setCookies == [
                "__Secure-bramley=; Max-Age=0; Path=/; Domain=example.com; Secure; HttpOnly; SameSite=Lax"
            ])
        let page = await site.get("/login")
        #expect(page.setCookies.first?.hasPrefix("__Host-bramley-login=") == true)
    }

    @Test(
        "A valid binding cookie is kept, any other replaced",
        arguments: [
            ("__Host-bramley-login=\(Site.binding)", true),
            ("__Host-bramley-login=short", false),
            ("__Host-bramley-login=\(Site.binding); __Host-bramley-login=\(Site.binding)", false),
            ("", false),
        ])
    func binding(_ field: String, isKept: Bool) async throws {
        let site = try Site()
        for target in ["/login", "/login/attempt", "/login/apple"] {
            let response = await site.get(target, cookie: field)
            let expected = "__Host-bramley-login=\(Site.binding); Max-Age=600; Path=/; Secure; HttpOnly; SameSite=None"
            #expect(response.setCookies.count == 1)
            #expect((response.setCookies.first == expected) == isKept, "\(target)")
            let attributes = "; Max-Age=600; Path=/; Secure; HttpOnly; SameSite=None"
            #expect(response.setCookies.first?.hasSuffix(attributes) == true)
        }
    }

    @Test func everyNewBindingIsAnother() async throws {
        let site = try Site()
        let first = await site.get("/login").setCookies
        let second = await site.get("/login").setCookies
        #expect(first != second)
    }
}
