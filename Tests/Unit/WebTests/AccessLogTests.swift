import Coding
import HTTP
import HTTPTypes
import LogRecording
import Sockets
import Stores
import Testing
import Web

@testable import Accounts

@Suite struct AccessLogTests {
    private static let secret = "brs_secret"

    private func lines(_ site: Site) -> [String] { site.log.lines.filter { $0.hasPrefix("info request ") } }

    @Test(
        "One line for each request, with the route's pattern and nothing of what was sent",
        arguments: [
            ("/login?return_to=/\(secret)&state=\(secret)", " route=/login "),
            ("/nowhere/\(secret)", " protocol=HTTP/1.1 "),
            ("/account?\(secret)", " route=/account "), ("/api/v1/users/\(secret)", " route=/api/v1/users/{id} "),
        ])
    func oneLine(_ target: String, _ part: String) async throws {
        let site = try Site()
        let response = await site.get(
            target, [.cookie: "a=\(Self.secret)", .userAgent: Self.secret, .referer: "https://x/\(Self.secret)"])
        let lines = lines(site)
        try #require(lines.count == 1)
        #expect(lines[0].contains(part) && lines[0].hasSuffix(" status=\(response.status.code)"))
        #expect(lines[0].contains("method=GET") && lines[0].contains(/\sms=[0-9]+\s/))
        #expect(lines[0].contains("bytes=\(response.bytes.count) "))
        #expect(lines[0].contains("client=10.0.0.0/24 "))
        #expect(lines[0].contains("request_id=\(response.fields[RequestID.field] ?? "none")"))
        #expect(!site.log.lines.joined().contains(Self.secret))
    }

    @Test("A link's line has neither its id nor its code")
    func link() async throws {
        let site = try LinkSite()
        _ = await site.get("/link/\(Self.secret)?code=\(Self.secret)")
        let lines = site.log.lines.filter { $0.hasPrefix("info request ") }
        #expect(lines.count == 1 && lines[0].contains(" route=/link/{id} "))
        #expect(!site.log.lines.joined().contains(Self.secret))
    }

    @Test(
        "Frequent requests are logged at debug, unless they fail",
        arguments: ["/auth/verify", "/oauth2/auth", "/assets/nothing.css"])
    func frequent(_ path: String) async throws {
        let site = try Site()
        _ = await site.get(path)
        #expect(lines(site) == [])
        #expect(site.log.lines.count { $0.hasPrefix("debug request bytes=") } == 1)
        guard path == "/auth/verify" else { return }
        site.signIn()
        site.database.faults.fail()
        #expect(await site.get(path, cookie: site.cookie).status == .serviceUnavailable)
        #expect(lines(site).count == 1)
    }

    @Test(
        "The configuration decides which requests are logged",
        arguments: [
            (WebConfiguration.AccessLog.Requests.all, 2), (.failures, 1), (.none, 0),
        ])
    func configured(_ requests: WebConfiguration.AccessLog.Requests, count: Int) async throws {
        let site = try Site { $0.accessLog.requests = requests }
        _ = await site.get("/login")
        _ = await site.get("/nowhere")
        #expect(lines(site).count == count)
        let log = AccessLog(site.configuration.accessLog, logger: site.log.logger)
        #expect(log.hasFrequentLines == (requests == .all))
    }

    @Test(
        "The configuration decides which address of the client is logged",
        arguments: [
            (.network, "192.0.2.77", "192.0.2.0/24"),
            (.network, "2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"), (.address, "192.0.2.77", "192.0.2.77"),
            (.none, "192.0.2.77", nil),
        ] as [(ClientDetail, String, String?)])
    func clients(_ clients: ClientDetail, address: String, text: String?) async throws {
        let site = try Site { $0.accessLog.clients = clients }
        _ = await site.send(.get, "/login", client: try #require(IPAddress(address)))
        let line = try #require(lines(site).first)
        #expect(line.firstMatch(of: /client=(\S+)/).map { String($0.1) } == text)
    }

    @Test(
        "A trusted proxy names the request, if it does so once and plainly",
        arguments: [
            (["abc-1_2.3:Z"], true), ([String(repeating: "a", count: 128)], true),
            ([String(repeating: "a", count: 129)], false), ([""], false), (["a b"], false), (["a,b"], false),
            (["a", "b"], false), (["ä"], false), (["a\"b"], false), (["<script>"], false),
        ])
    func names(_ values: [String], isTaken: Bool) async throws {
        let site = try Site()
        var fields = HTTPFields()
        for value in values { fields.append(HTTPField(name: RequestID.field, value: value)) }
        let trusted = try #require(await site.get("/login", fields, trusted: true).fields[RequestID.field])
        #expect((trusted == values[0]) == isTaken)
        if !isTaken { #expect(trusted.wholeMatch(of: /[0-9a-f]{16}/) != nil) }
        let stranger = try #require(await site.get("/login", fields).fields[RequestID.field])
        #expect(stranger.wholeMatch(of: /[0-9a-f]{16}/) != nil && stranger != trusted)
    }

    @Test func problemsNameTheRequest() async throws {
        let site = try Site()
        let response = await site.get("/api/v1/session")
        #expect(response.status == .unauthorized)
        let id = try #require(response.fields[RequestID.field])
        #expect(response.json?["requestID"]?.stringValue == id)
        #expect(site.log.lines.contains { $0.contains("request failed") && $0.contains("error_id=") })
    }

    @Test func onlySuccessfulVerifyIsNotLogged() async throws {
        let site = try Site.signedIn()
        let good = await site.get("/auth/verify", cookie: site.cookie)
        #expect(good.status == .noContent && good.fields[RequestID.field] == nil)
        #expect(await site.get("/auth/verify").fields[RequestID.field] != nil)
    }

    @Test("A failure a visitor may ask about shows an error ID that the log has", arguments: ["text/html", "*/*"])
    func errorIDs(accept: String) async throws {
        for (path, isPage) in [("/auth/verify", false), ("/account", true), ("/", true), ("/login", true)] {
            let site = try Site.signedIn(isFailing: true)
            let response = await site.get(path, [.cookie: site.cookie, .accept: accept])
            guard response.status.code >= 500 else { continue }
            let id = try #require(
                response.text.firstMatch(of: /[0-9A-F]{5}-[0-9A-F]{5}/).map { String($0.0) },
                "\(path) \(isPage) has none: \(response.text)")
            #expect(site.log.lines.contains { $0.hasPrefix("error ") && $0.contains("error_id=\(id)") })
        }
    }
}
