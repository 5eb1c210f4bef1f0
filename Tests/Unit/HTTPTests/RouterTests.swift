import HTTP
import HTTPTypes
import Testing

@Suite struct RouterTests {
    private func router(base: String = "") -> Router {
        var router = Router(basePath: base)
        let patterns: [(HTTPRequest.Method, String)] = [
            (.get, "/"), (.get, "/login"), (.post, "/apple/callback"), (.get, "/users"), (.get, "/users/{id}"),
            (.patch, "/users/{id}"), (.delete, "/users/{id}"), (.delete, "/users/{id}/sessions"), (.get, "/users/me"),
            (.get, "/assets/{path...}"), (.options, "/api"), (.get, "/api"), (.get, "/a/{x}/{y}"), (.get, "/a/b/c/d"),
            (.head, "/own-head"), (.get, "/own-head"), (.get, "/f/{x}/g"), (.get, "/f/{path...}"),
        ]
        for (method, pattern) in patterns {
            router.add(method, pattern) { _, _ in
                ServerResponse(status: .ok, body: .bytes(Array("\(method.rawValue) \(pattern)".utf8)))
            }
        }
        return router
    }

    private func describe(_ match: RouteMatch, _ names: [String] = ["id", "path", "x", "y"]) -> String {
        switch match {
        case .route(let route, let parameters):
            let values = names.compactMap { name in parameters[name].map { " \(name)=\($0)" } }
            return "\(route.method.rawValue) \(route.pattern)" + values.joined()
        case .options(let allow): return "204 " + allow
        case .failure(let failure):
            if case .methodNotAllowed(let allow) = failure { return "405 " + allow }
            return "\(failure.status.code)"
        }
    }

    @Test(arguments: [
        (HTTPRequest.Method.get, "/", "GET /"), (.get, "", "GET /"), (.get, "/login", "GET /login"),
        (.head, "/login", "GET /login"), (.head, "/own-head", "HEAD /own-head"),
        (.post, "/apple/callback", "POST /apple/callback"), (.get, "/users/7", "GET /users/{id} id=7"),
        (.get, "/users/me", "GET /users/me"), (.patch, "/users/7", "PATCH /users/{id} id=7"),
        (.delete, "/users/me/sessions", "DELETE /users/{id}/sessions id=me"),
        (.get, "/users/a%20b%C3%A9", "GET /users/{id} id=a bé"), (.get, "/%6cogin", "GET /login"),
        (.get, "/assets/css/site.css", "GET /assets/{path...} path=css/site.css"),
        (.get, "/a/b/c", "GET /a/{x}/{y} x=b y=c"), (.get, "/a/b/c/d", "GET /a/b/c/d"),
        (.get, "/f/1/g", "GET /f/{x}/g x=1"), (.get, "/f/1/2", "GET /f/{path...} path=1/2"),
        (.options, "/api", "OPTIONS /api"), (.options, "/login", "204 GET, HEAD, OPTIONS"),
        (.options, "/users/7", "204 GET, HEAD, DELETE, OPTIONS, PATCH"),
        (.options, "*", "204 GET, HEAD, POST, DELETE, OPTIONS, PATCH"),
        (.get, "/apple/callback", "405 POST, OPTIONS"), (.head, "/apple/callback", "405 POST, OPTIONS"),
        (.post, "/login", "405 GET, HEAD, OPTIONS"), (.trace, "/login", "405 GET, HEAD, OPTIONS"),
        (.put, "/users/me", "405 GET, HEAD, OPTIONS"),
    ])
    func routes_areFound(_ method: HTTPRequest.Method, _ path: String, _ expected: String) {
        #expect(describe(router().match(method, path: path)) == expected)
    }

    @Test(arguments: [
        ("/nothing", "404"), ("/login/", "404"), ("//login", "404"), ("/users//7", "404"), ("/login/x", "404"),
        ("/assets", "404"), ("/assets/", "404"), ("/Login", "404"), ("/users/7/", "404"), ("//", "404"),
        ("/../login", "400"), ("/x/../login", "400"), ("/./login", "400"), ("/login/.", "400"), ("/login/..", "400"),
        ("/%2e%2e/login", "400"), ("/.%2E/login", "400"), ("/users/a%2fb", "400"), ("/users/a%2Fb", "400"),
        ("/users/a%5cb", "400"), ("/users/%00", "400"), ("/users/%0d%0a", "400"), ("/users/%7f", "400"),
        ("/users/%", "400"), ("/users/%4", "400"), ("/users/%zz", "400"), ("/users/%ff", "400"),
        ("/users/%c0%ae", "400"), ("/users/a\\b", "400"), ("login", "400"), ("*", "400"), ("//../x", "400"),
        ("/assets/../login", "400"), ("/assets/%2e%2e/x", "400"),
        ("/assets" + String(repeating: "/a", count: 32), "404"),
    ])
    func oddPaths_areNotFound(_ path: String, _ expected: String) {
        #expect(describe(router().match(.get, path: path)) == expected)
    }

    @Test(arguments: [
        ("/b/c/login", "GET /login"), ("/b/c", "GET /"), ("/b/c/", "GET /"), ("/login", "404"), ("/", "404"),
        ("/b", "404"), ("/b/", "404"), ("/b/c/login/", "404"), ("/b/c//", "404"), ("/b//login", "404"),
    ])
    func basePath_precedesEveryRoute(_ path: String, _ expected: String) {
        for base in ["/b/c", "/b/c/"] {
            #expect(describe(router(base: base).match(.get, path: path)) == expected)
        }
    }

    @Test func unknownMethods_are501() throws {
        let brew = try #require(HTTPRequest.Method("BREW"))
        #expect(describe(router().match(brew, path: "/login")) == "501")
        #expect(describe(router().match(brew, path: "/nothing")) == "501")
    }

    @Test func handlers_answer() async throws {
        let response = await router().respond(to: serverRequest(.get, "/users/7?x"))
        guard case .bytes(let bytes) = response.body else {
            Issue.record("no body")
            return
        }
        #expect(String(decoding: bytes, as: UTF8.self) == "GET /users/{id}")
        let options = await router().respond(to: serverRequest(.options, "/login"))
        #expect(options.status == .noContent)
        #expect(options.fields[.allow] == "GET, HEAD, OPTIONS")
    }

    @Test func failures_areAnsweredByTheirMaker() async {
        let plain = await router().respond(to: serverRequest(.post, "/login"))
        #expect(plain.status == .methodNotAllowed)
        #expect(plain.fields[.allow] == "GET, HEAD, OPTIONS")
        let own = Router { _, failure in ServerResponse(status: failure.status, fields: [.location: "own"]) }
        let response = await own.respond(to: serverRequest(.get, "/x"))
        #expect(response.status == .notFound)
        #expect(response.fields[.location] == "own")
    }

    @Test func routes_areNumberedInOrder() {
        #expect(router().routes.map(\.id) == Array(0..<18))
    }
}
