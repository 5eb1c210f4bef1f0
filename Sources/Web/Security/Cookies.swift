import Accounts
import HTTP
import HTTPTypes

/// The cookies Bramley sets, and how it reads them back (RFC 6265bis).
struct Cookies: Sendable {
    /// Binds a sign-in to a browser. Always this name, which only this host can set.
    static let bindingName = "__Host-bramley-login"

    /// A name that a failed callback could not store, sealed for us. Exists only while needed.
    static let keptNameCookie = "__Host-bramley-name"

    /// `__Host-bramley`, or `__Secure-bramley` when shared with a parent domain.
    let sessionName: String
    private let sessionAttributes: String
    private let bindingLifetime: Int64
    private let sessionLifetime: Int64

    init(_ configuration: WebConfiguration) {
        sessionName = configuration.cookieDomain == nil ? "__Host-bramley" : "__Secure-bramley"
        let domain = configuration.cookieDomain.map { "; Domain=\($0)" } ?? ""
        sessionAttributes = "; Path=/\(domain); Secure; HttpOnly; SameSite=Lax"
        sessionLifetime = configuration.sessionLimits.lifetime
        bindingLifetime = configuration.signIn.attemptLifetime
    }

    func setSession(_ token: String) -> String {
        "\(sessionName)=\(token); Max-Age=\(sessionLifetime)\(sessionAttributes)"
    }

    /// `Set-Cookie` that makes the browser delete its session.
    var clearSession: String { "\(sessionName)=; Max-Age=0\(sessionAttributes)" }

    /// `Set-Cookie` of the binding, which lives as long as an attempt.
    func setBinding(_ value: String) -> String {
        "\(Self.bindingName)=\(value)\(Self.attributes(for: bindingLifetime))"
    }

    /// The same while a link or an identity waits for this browser, which may outlive an attempt.
    func setLinkBinding(_ value: String) -> String {
        "\(Self.bindingName)=\(value)\(Self.attributes(for: max(bindingLifetime, Link.lifetime)))"
    }

    /// Apple's form_post is a cross-site POST: browsers send only SameSite=None cookies with it.
    private static func attributes(for lifetime: Int64) -> String {
        "; Max-Age=\(lifetime); Path=/; Secure; HttpOnly; SameSite=None"
    }

    /// `Set-Cookie` of the name from a failed callback. It returns with Apple's form_post, like the binding.
    func setKeptName(_ value: String) -> String {
        "\(Self.keptNameCookie)=\(value)\(Self.attributes(for: SignIn.keptNameLifetime))"
    }

    /// `Set-Cookie` that makes the browser delete it.
    static let clearKeptName = "\(keptNameCookie)=\(attributes(for: 0))"

    /// Cookies that represent the binding and the session when `bramley doctor` checks their way.
    var probes: [(name: String, setting: String)] {
        let binding = "__Host-bramley-doctor"
        let session = sessionName + "-doctor-session"
        return [
            (binding, "\(binding)=\(Inspection.probeValue)\(Self.attributes(for: bindingLifetime))"),
            (session, "\(session)=\(Inspection.probeValue); Max-Age=60\(sessionAttributes)"),
        ]
    }

    func keptName(in fields: HTTPFields) -> NamedValue { Self.read(Self.keptNameCookie, in: fields) }

    func session(in fields: HTTPFields) -> NamedValue { Self.read(sessionName, in: fields) }

    func binding(in fields: HTTPFields) -> NamedValue { Self.read(Self.bindingName, in: fields) }

    /// Reads one cookie of the request; several `Cookie` fields count as one (RFC 9113 §8.2.3).
    ///
    /// Names are compared byte by byte, including case, after removing surrounding spaces and tabs; text without `=` is
    /// not our cookie. Quotation marks are part of a value.
    static func read(_ name: String, in fields: HTTPFields) -> NamedValue {
        var found: String?
        for field in fields[values: .cookie] {
            let bytes = Array(field.utf8)
            for pair in bytes.split(separator: UInt8(ascii: ";")) {
                guard let equals = pair.firstIndex(of: UInt8(ascii: "=")) else { continue }
                guard trimmed(pair[..<equals]).elementsEqual(name.utf8) else { continue }
                guard found == nil else { return .several }
                found = String(decoding: trimmed(pair[(equals + 1)...]), as: UTF8.self)
            }
        }
        return found.map { .one($0) } ?? .absent
    }

    /// What a request says about its browser's binding. Several count like a forged one.
    func bindingCookie(in fields: HTTPFields) -> BindingCookie {
        switch binding(in: fields) {
        case .absent: .absent
        case .several: .invalid
        case .one(let value): BrowserBinding(cookie: value).map { .value($0) } ?? .invalid
        }
    }

    /// The browser's binding, if it sent a valid one; it is kept, so that many tabs can sign in at once.
    func browserBinding(in fields: HTTPFields) -> BrowserBinding? {
        if case .value(let binding) = bindingCookie(in: fields) { binding } else { nil }
    }

    private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        guard let first = text.firstIndex(where: { !isSpace($0) }),
            let last = text.lastIndex(where: { !isSpace($0) })
        else { return text[text.endIndex...] }
        return text[first...last]
    }
}

extension ServerResponse {
    /// The same with these `Set-Cookie` fields.
    func setting(_ cookies: [String]) -> ServerResponse {
        var response = self
        for cookie in cookies { response.fields.append(HTTPField(name: .setCookie, value: cookie)) }
        return response
    }
}
