import HTTP
import HTTPTypes
import Testing

private let modified: Int64 = 784_111_777
private let hash = "0123456789abcdef0123"
private let now: Int64 = 1_785_000_000

@Suite struct StaticFilesTests {
    private let files = StaticFiles(assets: [
        StaticAsset(path: "css/site.css", bytes: Array("a{}".utf8), lastModified: modified, contentHash: hash)
    ])

    private func get(
        _ target: String = "/css/site.css", _ fields: HTTPFields = [:], _ method: HTTPRequest.Method = .get
    )
        -> ServerResponse
    {
        let request = serverRequest(method, target, fields: fields)
        return files.respond(to: request, path: String(request.path.dropFirst()), now: now)
    }

    @Test func asset_isServedWithItsValidators() {
        let response = get()
        #expect(response.status == .ok)
        #expect(response.fields[.contentType] == "text/css; charset=utf-8")
        #expect(response.fields[.eTag] == "\"\(hash)\"")
        #expect(response.fields[.lastModified] == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(response.fields[.cacheControl] == "public, max-age=300")
        guard case .bytes(let bytes) = response.body else {
            Issue.record("no body")
            return
        }
        #expect(bytes == Array("a{}".utf8))
        #expect(get("/css/site.css", [:], .head).status == .ok)
    }

    @Test(arguments: [
        ("/css/site.css?v=0123456789abcdef", true), ("/css/site.css?x=1&v=0123456789abcdef", true),
        ("/css/site.css?v=", false), ("/css/site.css?v=0123456789abcdee", false), ("/css/site.css?", false),
        ("/css/site.css?v=0123456789abcdef0123", false), ("/css/site.css?av=0123456789abcdef", false),
    ])
    func onlyTheCurrentVersion_isImmutable(_ target: String, _ immutable: Bool) {
        #expect(get(target).fields[.cacheControl]?.contains("immutable") == immutable)
    }

    @Test(arguments: [
        "\"\(hash)\"", "W/\"\(hash)\"", "\"x\", \"\(hash)\"", "*", "\"a,b\" , W/\"\(hash)\"", ",\"\(hash)\",",
    ])
    func matchingTags_areNotModified(_ value: String) {
        for method in [HTTPRequest.Method.get, .head] {
            let response = get("/css/site.css", [.ifNoneMatch: value], method)
            #expect(response.status == .notModified)
            #expect(response.fields[.eTag] == "\"\(hash)\"")
            #expect(response.fields[.cacheControl] == "public, max-age=300")
            #expect(response.fields[.contentType] == nil)
            guard case .none = response.body else {
                Issue.record("304 has content")
                return
            }
        }
    }

    @Test(arguments: ["\"x\"", hash, "\"\(hash)", "", "\"\(hash)\" \"x\"", "w/\"\(hash)\"", "\"\(hash)x\"", "**"])
    func otherTags_areServed(_ value: String) {
        // Even with a date that would match: only If-None-Match counts (RFC 9110 §13.2.2).
        let response = get(
            "/css/site.css", [.ifNoneMatch: value, .ifModifiedSince: "Sun, 06 Nov 1994 08:49:37 GMT"])
        #expect(response.status == .ok)
    }

    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 304), ("Sun, 06 Nov 1994 08:49:38 GMT", 304),
        ("Sun, 06 Nov 1994 08:49:36 GMT", 200), ("Sunday, 06-Nov-94 08:49:37 GMT", 304), ("yesterday", 200),
    ])
    func modifiedSince_comparesDates(_ value: String, _ status: Int) {
        #expect(get("/css/site.css", [.ifModifiedSince: value]).status.code == status)
    }

    @Test(arguments: [
        (HTTPField.Name.ifMatch, "\"\(hash)\"", 200), (.ifMatch, "*", 200), (.ifMatch, "W/\"\(hash)\"", 412),
        (.ifMatch, "\"x\"", 412), (.ifUnmodifiedSince, "Sun, 06 Nov 1994 08:49:37 GMT", 200),
        (.ifUnmodifiedSince, "Sun, 06 Nov 1994 08:49:36 GMT", 412), (.ifUnmodifiedSince, "x", 200),
    ])
    func otherPreconditions_areKept(_ name: HTTPField.Name, _ value: String, _ status: Int) {
        #expect(get("/css/site.css", [name: value]).status.code == status)
    }

    @Test func otherMethodsAndPaths_areRefused() {
        let post = get("/css/site.css", [:], .post)
        #expect(post.status == .methodNotAllowed)
        #expect(post.fields[.allow] == "GET, HEAD")
        for path in [
            "/", "/css", "/css/", "/css/site.css/", "/../css/site.css", "/css/../css/site.css", "/CSS/site.css",
        ] {
            #expect(get(path).status == .notFound, "\(path)")
        }
    }

    @Test(arguments: [
        "", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/..", "a/../b", ".env", "a/.git/config", "a\\b", "a b",
        "a%2e",
        "a\u{0}", "\u{e9}.css", "a?b", "a:b",
    ])
    func oddPaths_areNeverAdded(_ path: String) {
        #expect(!StaticFiles.isAllowed(path))
        let files = StaticFiles(assets: [StaticAsset(path: path, bytes: [1], lastModified: 0, contentHash: hash)])
        #expect(files.respond(to: serverRequest(.get, "/"), path: path, now: 0).status == .notFound)
    }

    @Test func hashWithCharactersThatATagMayNotHave_isRefused() {
        for hash in ["", "a\"b", "a\r\nb"] {
            let files = StaticFiles(assets: [StaticAsset(path: "a", bytes: [], lastModified: 0, contentHash: hash)])
            #expect(files.respond(to: serverRequest(.get, "/"), path: "a", now: 0).status == .notFound)
        }
    }

    @Test(arguments: [
        ("a.html", "text/html; charset=utf-8"), ("a.min.js", "text/javascript; charset=utf-8"),
        ("a.JS", "text/javascript; charset=utf-8"),
        ("a.woff2", "font/woff2"), ("a.png", "image/png"), ("a", "application/octet-stream"),
        ("a.b/c", "application/octet-stream"), ("a.unknown", "application/octet-stream"),
        ("a.", "application/octet-stream"),
    ])
    func contentTypes_followTheExtension(_ name: String, _ type: String) {
        #expect(MediaType.forFile(named: name) == type)
    }
}
