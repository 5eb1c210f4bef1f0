import Coding
import HTTP
import HTTPTypes
import Testing
import Web

/// Whatever goes wrong below `/.well-known/` is said to programs: RFC 9457.
@Suite struct WellKnownTests {
    @Test(
        "Problems below /.well-known/ are JSON",
        arguments: [
            (HTTPRequest.Method.get, "/.well-known/nothing", 404), (.get, "/.well-known/", 404),
            (.get, "/.well-known/nothing/below", 404), (.post, "/.well-known/jwks.json", 405),
            (.delete, "/.well-known/apple-app-site-association", 405), (.get, "/.well-known/jwks.json", 404),
            (.get, "/.well-known/a%zz", 400), (.get, "/.well-known/../x", 400), (.get, "/api/v1/nothing", 404),
            (.get, "/.well-known/change-password", 404), (.init("BREW")!, "/.well-known/jwks.json", 501),
        ])
    func problems(_ method: HTTPRequest.Method, _ path: String, status: Int) async throws {
        for base in ["", "/sign-in"] {
            let site = try Site(publicURL: "https://login.example.com" + base)
            let response = await site.send(method, base + path, [.accept: "text/html"])
            #expect(response.status.code == status)
            #expect(response.fields[.contentType] == "application/problem+json")
            #expect(response.json?["status"]?.int64Value == Int64(status))
        }
        // Where clients look first, there is nothing without an OpenID provider: the same problem.
        let site = try Site(publicURL: "https://login.example.com/sign-in")
        for path in [
            "openid-configuration", "oauth-authorization-server/sign-in", "openid-configuration/sign-in",
            "jwks.json/sign-in",
        ] {
            #expect(await site.get("/.well-known/\(path)").code == "not_found")
        }
        #expect(await site.get("/sign-in/nothing").fields[.contentType] == "text/html; charset=utf-8")
    }

    /// A Well-Known URL for Changing Passwords: password managers open it.
    @Test(
        "Where a password is changed",
        arguments: [
            "https://accounts.example.org/password?from=manager#change", "/password/change", "/",
        ])
    func changePassword(url: String) async throws {
        for base in ["", "/sign-in"] {
            let site = try Site(
                publicURL: "https://login.example.com" + base, adjust: { $0.login.changePasswordURL = url })
            for method in [HTTPRequest.Method.get, .head] {
                let response = await site.send(method, base + "/.well-known/change-password")
                // A path is one of the host, which is the application's.
                #expect(response.status == .seeOther && response.location == url)
                #expect(response.setCookies.isEmpty)
            }
            #expect(await site.send(.post, base + "/.well-known/change-password").status == .methodNotAllowed)
        }
    }
}
