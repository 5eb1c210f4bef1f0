import HTTP
import HTTPTypes
import Sockets
import Testing

@testable import Bramley

/// The plain port's answers: always the same origin, whatever is asked, and however.
struct RedirectHandlerTests {
    static let handler = RedirectHandler(origin: "https://id.example.com:8443")

    private func answer(
        _ method: HTTPRequest.Method, _ path: String?, authority: String? = "evil.example"
    ) async -> ServerResponse {
        var head = HTTPRequest(method: method, scheme: "http", authority: authority, path: path)
        head.headerFields[.init("X-Forwarded-Host") ?? .via] = "evil.example"
        return await Self.handler.respond(
            to: ServerRequest(
                head: head, path: path ?? "", query: nil, body: [1], client: .v4(1), isFromTrustedProxy: true))
    }

    @Test(
        arguments: [
            ("/", "/"), ("/a%20b?x=1&y=%2F", "/a%20b?x=1&y=%2F"), ("//evil.example/", "//evil.example/"),
            ("/\\evil.example", "/\\evil.example"), ("/?", "/?"), ("*", "/"), ("", "/"), ("evil.example:443", "/"),
            (nil, "/"),
        ] as [(String?, String)])
    func leadsToTheOneOrigin(path: String?, target: String) async {
        for authority in ["evil.example", nil] {
            let location = await answer(.get, path, authority: authority).fields[.location]
            #expect(location == "https://id.example.com:8443" + target)
        }
    }

    @Test(arguments: [
        (HTTPRequest.Method.get, 301), (.head, 301), (.post, 308), (.put, 308), (.options, 308), (.trace, 308),
        (.connect, 308),
    ])
    func redirectKeepsTheMethodUnlessItReads(method: HTTPRequest.Method, status: Int) async {
        let response = await answer(method, "/apple/callback")
        #expect(response.status.code == status)
        #expect(response.fields[.strictTransportSecurity] == nil)
        #expect(response.fields[.setCookie] == nil)
        #expect(response.fields[.cacheControl] == "max-age=3600")
        #expect(response.fields[.xContentTypeOptions] == "nosniff")
    }

    @Test func refusalsOfThatPortHaveNoStrictTransportSecurity() {
        #expect(RedirectHandler.fields[.strictTransportSecurity] == nil)
    }
}
