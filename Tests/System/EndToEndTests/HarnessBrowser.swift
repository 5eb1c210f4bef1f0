import AppleSimulator
import Coding
import Foundation
import Synchronization

/// Which page a request comes from: decides the fields a browser adds, and the cookies it sends along.
enum RequestContext: Sendable {
    /// Typed into the address bar.
    case addressBar
    /// A page of ours.
    case sameOrigin
    /// A page of another site; `origin` as that browser writes it.
    case otherSite(String)
    /// No fetch metadata and no `Origin`: a program, or an old browser. All cookies.
    case program
}

/// One request as it will go over the wire. Fields given here replace those a browser would add.
struct WireRequest: Sendable {
    var method = "GET"
    var target: String
    var fields: [(name: String, value: String)] = []
    var body: [UInt8]?
    var context = RequestContext.addressBar

    static func get(
        _ target: String, _ fields: [(name: String, value: String)] = [], from context: RequestContext = .addressBar
    ) -> WireRequest {
        WireRequest(target: target, fields: fields, context: context)
    }

    static func post(
        _ target: String, form: Form, _ fields: [(name: String, value: String)] = [],
        from context: RequestContext = .sameOrigin
    ) -> WireRequest {
        var request = WireRequest(
            method: "POST", target: target, fields: fields, body: Array(form.encoded.utf8), context: context)
        if !request.names("content-type") {
            request.fields.append(("Content-Type", "application/x-www-form-urlencoded"))
        }
        return request
    }

    func names(_ field: String) -> Bool { fields.contains { $0.name.lowercased() == field.lowercased() } }

    func bytes(host: String, cookies: String?) -> [UInt8] {
        var head = "\(method) \(target) HTTP/1.1\r\n"
        var all = fields
        func add(_ name: String, _ value: String) { if !names(name) { all.append((name, value)) } }
        add("Host", host)
        add("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) Harness/1.0")
        add("Accept", "text/html")
        if let cookies, !cookies.isEmpty { add("Cookie", cookies) }
        switch context {
        case .addressBar:
            add("Sec-Fetch-Site", "none")
            add("Sec-Fetch-Mode", "navigate")
        case .sameOrigin:
            add("Sec-Fetch-Site", "same-origin")
            if method != "GET" { add("Origin", "http://" + host) }
        case .otherSite(let origin):
            add("Sec-Fetch-Site", "cross-site")
            if method != "GET" { add("Origin", origin) }
        case .program: break
        }
        if let body { add("Content-Length", String(body.count)) }
        for field in all { head += "\(field.name): \(field.value)\r\n" }
        return Array((head + "\r\n").utf8) + (body ?? [])
    }
}

/// Named values in order, as `application/x-www-form-urlencoded` carries them; a name may come twice.
struct Form: Sendable {
    var pairs: [(name: String, value: String)]

    init(_ pairs: [(name: String, value: String)] = []) { self.pairs = pairs }

    subscript(name: String) -> String? {
        get { pairs.first { $0.name == name }?.value }
        set {
            if let index = pairs.firstIndex(where: { $0.name == name }) {
                if let newValue { pairs[index].value = newValue } else { pairs.remove(at: index) }
            } else if let newValue {
                pairs.append((name, newValue))
            }
        }
    }

    func setting(_ name: String, _ value: String?) -> Form {
        var form = self
        form[name] = value
        return form
    }

    var encoded: String { pairs.map { Form.escape($0.name) + "=" + Form.escape($0.value) }.joined(separator: "&") }

    static func escape(_ text: String) -> String {
        text.utf8.map { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: String(UnicodeScalar(byte))
            default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }.joined()
    }

    /// The hidden fields of the form on a page, unescaped.
    init(hiddenFieldsOf html: String) {
        pairs = []
        for tag in html.components(separatedBy: "<input").dropFirst() where tag.contains("type=\"hidden\"") {
            guard let name = Self.attribute("name", of: tag) else { continue }
            pairs.append((name, Self.attribute("value", of: tag) ?? ""))
        }
    }

    private static func attribute(_ name: String, of tag: String) -> String? {
        guard let start = tag.range(of: "\(name)=\"") else { return nil }
        var text = String(tag[start.upperBound...].prefix { $0 != "\"" })
        for (entity, character) in [
            ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&#x27;", "'"), ("&amp;", "&"),
        ] { text = text.replacingOccurrences(of: entity, with: character) }
        return text
    }
}

/// A browser: cookies, and an address of its own, so that limits per address keep browsers apart.
final class Browser: Sendable {
    let site: Site
    /// 127.x.y.z as a number.
    let source: UInt32
    private let jar = Mutex<[String: SetCookie]>([:])
    private static let addresses = Mutex<UInt32>(0x7F01_0000)

    init(_ site: Site, source: UInt32? = nil) {
        self.site = site
        self.source =
            source
            ?? Self.addresses.withLock { last in
                last += 1
                return last
            }
    }

    // MARK: Cookies

    static let bindingName = "__Host-bramley-login"
    static let sessionName = "__Host-bramley"

    func cookie(_ name: String) -> String? { jar.withLock { $0[name]?.value } }

    var binding: String? { cookie(Self.bindingName) }
    var sessionToken: String? { cookie(Self.sessionName) }

    /// nil forgets it.
    func setCookie(_ name: String, _ value: String?, sameSite: String = "Lax") {
        jar.withLock { $0[name] = value.map { SetCookie("\(name)=\($0); SameSite=\(sameSite)") } }
    }

    /// The same browser at another address: for tests that make more requests than one address may.
    func elsewhere() -> Browser {
        let browser = Browser(site)
        let cookies = jar.withLock { $0 }
        browser.jar.withLock { $0 = cookies }
        return browser
    }

    private func cookies(for request: WireRequest) -> String {
        jar.withLock { jar in
            jar.values.filter { cookie in
                guard case .otherSite = request.context else { return true }
                let sameSite = cookie.attributes["samesite"]?.lowercased() ?? "lax"
                return sameSite == "none" || (sameSite == "lax" && request.method == "GET")
            }.map { "\($0.name)=\($0.value)" }.sorted().joined(separator: "; ")
        }
    }

    private func keep(_ cookies: [SetCookie]) {
        jar.withLock { jar in
            for cookie in cookies { jar[cookie.name] = cookie.isRemoval ? nil : cookie }
        }
    }

    // MARK: Requests

    /// Sends one request on a connection of its own and keeps the cookies of the answer.
    @discardableResult
    func send(_ request: WireRequest) async throws -> WireResponse {
        let bytes = request.bytes(host: site.authority, cookies: cookies(for: request))
        let (port, source, isHead) = (site.port, source, request.method == "HEAD")
        let response = try await blocking {
            let connection = try WireConnection(port: port, source: source)
            connection.send(bytes)
            return try connection.response(toHead: isHead)
        }
        keep(response.setCookies)
        return response
    }

    @discardableResult
    func get(
        _ target: String, _ fields: [(name: String, value: String)] = [], from context: RequestContext = .addressBar
    ) async throws -> WireResponse {
        try await send(.get(target, fields, from: context))
    }

    @discardableResult
    func post(
        _ target: String, _ form: Form = Form(), _ fields: [(name: String, value: String)] = [],
        from context: RequestContext = .sameOrigin
    ) async throws -> WireResponse {
        try await send(.post(target, form: form, fields, from: context))
    }

    /// Bytes as they are, on a connection of its own; everything until the server closes.
    func exchange(_ bytes: [UInt8], finishing: Bool = true) async throws -> [UInt8] {
        let (port, source) = (site.port, source)
        return try await blocking {
            let connection = try WireConnection(port: port, source: source)
            connection.send(bytes)
            if finishing { connection.finishSending() }
            return try connection.receiveToEnd()
        }
    }

    // MARK: Signing in

    /// The tap: `GET /login/apple`. Gives Apple's authorize URL.
    func begin(returnTo: String? = nil) async throws -> String {
        let query = returnTo.map { "?return_to=" + Form.escape($0) } ?? ""
        var response = try await get("/login/apple" + query, from: .sameOrigin)
        // A second sign-in within seconds is explained once before it continues.
        if response.status == 200 { response = try await get("/login/apple" + query, from: .sameOrigin) }
        guard response.status == 303, let location = response["location"] else {
            throw SiteError("GET /login/apple answered \(response.status)")
        }
        return location
    }

    /// The tap, Apple and consent: what Apple's page would now post to the callback.
    func consent(
        as person: String = "ada", returnTo: String? = nil, _ more: [(String, JSON)] = []
    ) async throws -> Form {
        try await site.apple.authorize(begin(returnTo: returnTo), as: person, more)
    }

    /// Apple's page posts the form: another site, so only `SameSite=None` travels.
    @discardableResult
    func postCallback(
        _ form: Form, _ fields: [(name: String, value: String)] = [],
        from context: RequestContext = .otherSite("https://appleid.apple.com")
    ) async throws -> WireResponse {
        try await post("/apple/callback", form, fields, from: context)
    }

    /// The same as it goes over the wire.
    func callbackBytes(_ form: Form) -> [UInt8] {
        WireRequest.post("/apple/callback", form: form, from: .otherSite("https://appleid.apple.com"))
            .bytes(host: site.authority, cookies: "\(Self.bindingName)=\(binding ?? "")")
    }

    /// A whole sign-in; throws unless it leads to a session.
    @discardableResult
    func signIn(
        as person: String = "ada", returnTo: String? = nil, _ more: [(String, JSON)] = []
    ) async throws -> WireResponse {
        let response = try await postCallback(consent(as: person, returnTo: returnTo, more))
        guard response.status == 303, sessionToken != nil else {
            throw SiteError("signing in answered \(response.status): \(response.text.prefix(300))")
        }
        return response
    }

    /// `GET /api/v1/session`; nil when signed out.
    func session() async throws -> JSON? {
        let response = try await get("/api/v1/session", from: .sameOrigin)
        switch response.status {
        case 200: return JSON(parsing: response.body)
        case 401: return nil
        default: throw SiteError("GET /api/v1/session answered \(response.status)")
        }
    }

    /// `GET /auth/verify`, as a proxy asks it.
    @discardableResult
    func verify(_ fields: [(name: String, value: String)] = [], query: String = "") async throws -> WireResponse {
        try await get("/auth/verify" + query, fields, from: .program)
    }
}
