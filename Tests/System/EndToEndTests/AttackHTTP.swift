import AppleSimulator
import Coding
import Foundation
import Testing

/// HTTP's own rules through the full stack: a smoke of each; HTTPTests and ConformanceTests have the tables.
@Suite struct HTTPUnderAttack {
    /// `HOST` stands for ours. What follows a refused request must never be answered as one.
    static let refused: [(text: String, status: Int)] = [
        (
            "POST /apple/callback HTTP/1.1\r\nHost: HOST\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400
        ),
        ("POST /apple/callback HTTP/1.1\r\nHost: HOST\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcde", 400),
        ("POST /apple/callback HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501),
        ("POST /apple/callback HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n", 400),
        ("GET /login HTTP/1.1\nHost: HOST\n\n", 400),
        ("GET /login HTTP/1.1\r\nHost: HOST\r\nHost: HOST\r\n\r\n", 400),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        ("CONNECT evil.example:443 HTTP/1.1\r\nHost: HOST\r\n\r\n", 501),
        ("GET /" + String(repeating: "a", count: 8192) + " HTTP/1.1\r\nHost: HOST\r\n\r\n", 414),
        ("GET /login HTTP/1.1\r\nHost: HOST\r\n" + String(repeating: "X: a\r\n", count: 100) + "\r\n", 431),
        ("POST /apple/callback HTTP/1.1\r\nHost: HOST\r\nExpect: 200-maybe\r\nContent-Length: 1\r\n\r\na", 417),
        ("POST /apple/callback HTTP/1.1\r\nHost: HOST\r\nContent-Length: 99999999\r\n\r\n", 413),
    ]

    @Test func ambiguousOrOversizedRequestIsRefusedAndTheConnectionClosed() async throws {
        try await withSignedIn { (site: Site, browser: Browser) async throws in
            let smuggled =
                "GET /auth/verify HTTP/1.1\r\nHost: HOST\r\nCookie: \(Browser.sessionName)=\(browser.sessionToken ?? "")\r\n\r\n"
            for (text, status) in Self.refused {
                let bytes = (text + smuggled).replacingOccurrences(of: "HOST", with: site.authority)
                let answer = String(decoding: try await browser.exchange(Array(bytes.utf8)), as: UTF8.self)
                let name = text.prefix(90).debugDescription
                #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(name): \(answer.prefix(40))")
                #expect(answer.components(separatedBy: "HTTP/1.1 ").count == 2, "\(name)")
                #expect(!answer.contains("204 No Content"), "\(name)")
                Self.expectSecurityFields(
                    try #require(try WireResponse.parse(Array(answer.utf8), toHead: false, isAtEnd: true)?.0), name)
                #expect(answer.lowercased().contains("connection: close"), "\(name)")
            }
            #expect(try await browser.session() != nil)
        }
    }

    @Test(
        arguments: [
            ("GET /auth/verify HTTP/1.0\r\n\r\n", 401), ("GET /auth/verify HTTP/1.0\r\nHost: x\r\n\r\n", 401),
            ("BREW /login HTTP/1.1\r\nHost: x\r\n\r\n", 405), ("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 204),
            ("GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n", 404),
            ("GET /assets/../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", 400),
            ("GET /assets/%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", 400),
            ("GET /assets/..%2f..%2fetc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", 400),
            ("GET /assets/.htaccess HTTP/1.1\r\nHost: x\r\n\r\n", 404),
            ("DELETE /login HTTP/1.1\r\nHost: x\r\n\r\n", 405),
        ] as [(String, Int)])
    func oddButWellFramedRequestIsAnswered(text: String, status: Int) async throws {
        try await withSite { (site: Site) async throws in
            let bytes = try await site.browser().exchange(Array(text.utf8))
            let response = try #require(try WireResponse.parse(bytes, toHead: false, isAtEnd: true)?.0)
            #expect(
                response.status == status || (status == 404 && [400, 405].contains(response.status))
                    || (status == 405 && response.status == 501), "\(response.status)")
            if response.status == 405 { #expect(response["allow"]?.isEmpty == false) }
            Self.expectSecurityFields(response, text.debugDescription)
        }
    }

    @Test func expectContinueHeadAndDate() async throws {
        try await withConsent { (site: Site, browser: Browser, form: Form) async throws in
            var request = WireRequest.post(
                "/apple/callback", form: form, [("Expect", "100-continue")],
                from: .otherSite("https://appleid.apple.com"))
            let body = try #require(request.body)
            request.body = []
            request.fields.append(("Content-Length", String(body.count)))
            let head = request.bytes(host: site.authority, cookies: "\(Browser.bindingName)=\(browser.binding ?? "")")
            let port = site.port
            let response = try await blocking {
                let connection = try WireConnection(port: port)
                connection.send(head)
                let interim = try connection.receive(atLeast: 25) ?? []
                #expect(String(decoding: interim, as: UTF8.self) == "HTTP/1.1 100 Continue\r\n\r\n")
                connection.send(body)
                return try connection.response()
            }
            #expect(response.status == 303)
            let get = try await site.browser().get("/login")
            let headOnly = try await site.browser().send(WireRequest(method: "HEAD", target: "/login"))
            #expect(headOnly.status == 200)
            #expect(headOnly["content-length"] == get["content-length"])
            #expect(headOnly.body.isEmpty)
            for answer in [get, headOnly, response] { #expect(answer["date"]?.hasSuffix(" GMT") == true) }
        }
    }

    /// Header, body and write held back; others are served all along, and each slow one is ended by its limit.
    @Test func slowClientsAreEndedWhileOthersAreServed() async throws {
        let limits: JSON = ["headerTimeout": 3, "bodyTimeout": 3, "idleTimeout": 3, "writeTimeout": 3]
        try await withSite(SiteOptions(configuration: [("server", ["limits": limits])])) { (site: Site) async throws in
            let (port, host) = (site.port, site.authority)
            let slow: [(begin: String, drip: String, ending: String)] = [
                // Slowloris: a field now and then.
                ("GET /login HTTP/1.1\r\nHost: \(host)\r\n", "X: y\r\n", "HTTP/1.1 408"),
                // A body byte by byte.
                ("POST /apple/callback HTTP/1.1\r\nHost: \(host)\r\nContent-Length: 1000\r\n\r\n", "a", "HTTP/1.1 408"),
                // Chunks byte by byte.
                (
                    "POST /apple/callback HTTP/1.1\r\nHost: \(host)\r\nTransfer-Encoding: chunked\r\n\r\n",
                    "1\r\na\r\n", "HTTP/1.1 408"
                ),
                // Nothing at all.
                ("", "", ""),
                ("GET /auth/verify HTTP/1.1\r\nHost: \(host)\r\n\r\n", "", "HTTP/1.1 401"),
            ]
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (begin, drip, ending) in slow {
                    for _ in 0..<10 {
                        group.addTask {
                            let answer = try await blocking {
                                let connection = try WireConnection(port: port, timeout: 40)
                                if !begin.isEmpty { connection.send(begin) }
                                // As long as the server listens, a little more, ten times a second:
                                // that pace is the attack, nothing is waited for. Reading ends when it has had enough.
                                let dripping = Thread { while !drip.isEmpty, connection.send(drip) { usleep(100_000) } }
                                dripping.start()
                                return try connection.receiveToEnd()
                            }
                            #expect(String(decoding: answer, as: UTF8.self).hasPrefix(ending))
                        }
                    }
                }
                group.addTask {
                    let browser = try await site.signedIn()
                    for _ in 0..<30 { #expect(try await browser.verify().status == 204) }
                }
                try await group.waitForAll()
            }
        }
    }

    /// The peer goes away in the middle of everything.
    @Test func brokenConnectionsAffectNobody() async throws {
        try await withConsent { (site: Site, browser: Browser, form: Form) async throws in
            let bytes = browser.callbackBytes(form)
            let port = site.port
            try await blocking {
                for cut in stride(from: 0, to: bytes.count, by: 97) {
                    let connection = try WireConnection(port: port)
                    connection.send(Array(bytes[..<cut]))
                }
            }
            #expect(try await site.count("session") == 0)
            #expect(try await browser.postCallback(form).status == 303)
        }
    }

    /// The work of a callback continues when its connection is gone: a reload finds the session made.
    @Test func disconnectDoesNotCancelTheSignIn() async throws {
        try await withConsent { (site: Site, browser: Browser, form: Form) async throws in
            try await site.apple.control("PUT", "faults/token", ["delay": 300])
            let bytes = browser.callbackBytes(form)
            let port = site.port
            try await blocking {
                let connection = try WireConnection(port: port)
                connection.send(bytes)
            }
            let response = try await browser.postCallback(form)
            #expect(response.status == 303)
            #expect(try await browser.session() != nil)
            #expect(try await site.count("session") == 1)
        }
    }

    @Test func connectionsPerAddressAreLimited() async throws {
        let limits: JSON = ["connectionsPerAddress": 8, "connections": 20]
        try await withSite(SiteOptions(configuration: [("server", ["limits": limits])])) { (site: Site) async throws in
            let (port, host) = (site.port, site.authority)
            let request = WireRequest.get("/auth/verify", from: .program).bytes(host: host, cookies: nil)
            let greedy = site.browser().source
            let held = try await blocking {
                var held: [WireConnection] = []
                for _ in 0..<8 {
                    let connection = try WireConnection(port: port, source: greedy)
                    connection.send(request)
                    #expect(try connection.response().status == 401)
                    held.append(connection)
                }
                // The ninth is closed without an answer.
                let ninth = try WireConnection(port: port, source: greedy)
                ninth.send(request)
                #expect((try? ninth.receive()) == nil)
                return held
            }
            #expect(try await site.browser().verify().status == 401)
            // All of the server's connections, by several addresses.
            let others = (0..<12).map { _ in site.browser().source }
            let more = try await blocking {
                try others.map { source in
                    let connection = try WireConnection(port: port, source: source)
                    connection.send(request)
                    #expect(try connection.response().status == 401)
                    return connection
                }
            }
            // Those without a request make room for those who begin one, until all that are open have begun.
            let begun = Array(
                "POST /apple/callback HTTP/1.1\r\nHost: \(host)\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n"
                    .utf8)
            let newcomers = (0..<30).map { _ in site.browser().source }
            let busy = try await blocking {
                var busy: [WireConnection] = []
                for source in newcomers {
                    let connection = try WireConnection(port: port, source: source)
                    connection.send(begun)
                    guard let interim = try? connection.receive(atLeast: 12) else { return busy }
                    #expect(interim.starts(with: "HTTP/1.1 100".utf8))
                    busy.append(connection)
                }
                return busy
            }
            #expect(busy.count >= 1)
            #expect(busy.count <= 20)
            // The operator's listener has its own count.
            #expect(try await site.adminStatus("/healthz") == 200)
            try await blocking {
                _ = held.count + more.count + busy.count
            }
        }
    }

    /// Nothing of the operator's is on the visitors' listener, nor theirs on the operator's.
    @Test func operatorsRoutesAreNotPublic() async throws {
        try await withSite { (site: Site) async throws in
            for path in ["/healthz", "/readyz", "/metrics"] {
                #expect(try await site.browser().get(path).status == 404)
            }
            #expect(try await site.adminStatus("/healthz") == 200)
            // The site's clock stands still, so beside PostgreSQL's the server is soon not ready.
            let ready = SitePostgres.isWanted ? [200, 503] : [200]
            #expect(ready.contains(try await site.adminStatus("/readyz")))
            #expect(try await site.adminStatus("/login") == 404)
            #expect(try await site.adminStatus("/auth/verify") == 404)
        }
    }

    static func expectSecurityFields(_ response: WireResponse, _ name: String) {
        // These sites are plain http, where it says nothing (RFC 6797 §7.2).
        #expect(response["strict-transport-security"] == nil, "\(name)")
        #expect(response["x-content-type-options"] == "nosniff", "\(name)")
        #expect(response["content-security-policy"]?.contains("frame-ancestors 'none'") == true, "\(name)")
        #expect(["no-referrer", "same-origin", "strict-origin"].contains(response["referrer-policy"]), "\(name)")
        #expect(response["server"] == nil, "\(name)")
        #expect(response["x-powered-by"] == nil, "\(name)")
        #expect(response["date"] != nil, "\(name)")
        if !response.body.isEmpty {
            let type = response["content-type"] ?? ""
            #expect(!type.isEmpty, "\(name)")
            if type.hasPrefix("text/") { #expect(type.hasSuffix("charset=utf-8"), "\(name)") }
        }
    }
}

extension Site {
    func adminStatus(_ path: String) async throws -> Int {
        let port = adminPort
        return try await blocking {
            let connection = try WireConnection(port: port)
            connection.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return try connection.response().status
        }
    }
}

/// Failures of the server itself have the security fields too; SecurityHeadersTests has every other response.
@Suite struct SecurityFieldsOfEveryResponse {
    @Test func failuresHaveThem() async throws {
        try await withSite(SiteOptions(configuration: [("server", ["limits": ["bodyTimeout": 1]])])) {
            (site: Site) async throws in
            let browser = site.browser()
            // 503: Apple is down.
            let form = try await browser.consent()
            try await site.apple.control("PUT", "faults/token", ["status": 500, "body": "html"])
            let unavailable = try await browser.postCallback(form)
            #expect(unavailable.status == 503)
            HTTPUnderAttack.expectSecurityFields(unavailable, "503")
            #expect(!unavailable.text.lowercased().contains("stack"))
            // 408: a body that never comes.
            let port = site.port
            let late = try await blocking {
                let connection = try WireConnection(port: port)
                connection.send("POST /apple/callback HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n")
                return try connection.response()
            }
            #expect(late.status == 408)
            HTTPUnderAttack.expectSecurityFields(late, "408")
            var limited: WireResponse?
            for _ in 0..<200 where limited == nil {
                let response = try await browser.get("/login/attempt", from: .sameOrigin)
                if response.status == 429 { limited = response }
            }
            HTTPUnderAttack.expectSecurityFields(try #require(limited), "429")
        }
    }
}
