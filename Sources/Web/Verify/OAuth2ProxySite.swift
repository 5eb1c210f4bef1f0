import Accounts
import Coding
import HTTP
import HTTPTypes

/// What configurations written for oauth2-proxy say about a request: less than `/auth/verify` needs. nginx's send
/// `Host`, `X-Forwarded-Uri`, `X-Real-IP` and `X-Auth-Request-Redirect`, and pass everything else as the client sent
/// it.
struct OAuth2ProxySite: Sendable {
    /// An origin of publicURL or of `login.allowedReturnOrigins`, in parts.
    private typealias Origin = (text: String, authority: String, host: String)

    let targets: ReturnTargets
    private let style: OriginalRequest.Style
    private let publicURL: PublicURL
    private let publicHost: String
    private let origins: [Origin]

    init(configuration: WebConfiguration) {
        targets = configuration.returnTargets
        style = configuration.forwardAuth
        publicURL = configuration.publicURL
        publicHost = Self.host(of: configuration.publicURL.authority)
        let texts = [configuration.publicURL.origin] + configuration.login.allowedReturnOrigins
        origins = texts.compactMap { text in
            guard let end = text.firstRange(of: "://")?.upperBound else { return nil }
            let authority = String(text[end...])
            return (text, authority, Self.host(of: authority))
        }
    }

    private static func host(of authority: String) -> String {
        String(decoding: RulePath.host(of: authority), as: UTF8.self)
    }

    /// The known origin of this name; a name without a port, as nginx's `$host`, finds the only origin of that host.
    private func origin(_ authority: String) -> Origin? {
        if let exact = origins.first(where: { $0.authority.isExactly(authority) }) { return exact }
        let found = origins.filter { $0.host.isExactly(authority) }
        return Set(found.map(\.text)).count == 1 ? found.first : nil
    }

    // MARK: The original request

    /// The description for `/oauth2/auth`, with what those configurations omit taken from `Host`.
    ///
    /// Where `Host` is that of a site, as nginx's `$host` is, only it counts: `X-Forwarded-Host` and
    /// `X-Forwarded-Method` may then be the client's own, which those configurations do not remove.
    /// - Parameter isJudged: whether rules apply: then an unknown name is refused.
    func complete(
        _ original: OriginalRequest, of request: ServerRequest, isJudged: Bool
    ) throws(Failure) -> OriginalRequest {
        guard request.isFromTrustedProxy, let authority = request.head.authority else { return original }
        let known = origin(authority)
        if let named = original.host, known == nil || isOurOwn(authority, beside: named) {
            // Asked at an address of Bramley's own, such as `127.0.0.1:8080`, as Traefik does. A client cannot fake
            // that: `$host` removes the port. It can, however, send publicURL's name to the site's nginx.
            guard !isJudged || known == nil && Self.host(of: authority) != authority else {
                throw .originalRequest(.unknownSite)
            }
            return original
        }
        if let named = original.host, isJudged, !Self.host(of: named).isExactly(Self.host(of: authority)) {
            throw .originalRequest(.duplicated("Host, X-Forwarded-Host"))
        }
        guard let known else {
            if isJudged, original.target != nil { throw .originalRequest(.unknownSite) }
            return original
        }
        var completed = original
        completed.host = known.authority
        completed.scheme = String(known.text.prefix { $0 != ":" })
        if style == .forwarded || original.host == nil { completed.method = nil }
        return completed
    }

    /// Whether `Host` is publicURL's and the proxy names another site, unless the path shows that both share the host.
    private func isOurOwn(_ authority: String, beside named: String) -> Bool {
        Self.host(of: authority).isExactly(publicHost) && !Self.host(of: named).isExactly(publicHost)
            && !publicURL.basePath.hasSuffix("/oauth2") && origin(named) != nil
    }

    /// Whether the browser is at publicURL's host, where our cookies and scripts work.
    func isOurs(_ request: ServerRequest) -> Bool {
        request.head.authority.map { Self.host(of: $0).isExactly(publicHost) } ?? false
    }

    // MARK: The return target

    /// `rd`, otherwise a trusted proxy's `X-Auth-Request-Redirect`, if any; throws when it is not an allowed target.
    func target(of request: ServerRequest) throws(Failure) -> ReturnTarget? {
        if let text = try Self.redirectParameter(request) {
            guard let found = resolve(text, request) ?? (isTooLong(text) ? start(of: text, request) : nil) else {
                throw Failure(.returnToRefused)
            }
            return usable(found)
        }
        guard request.isFromTrustedProxy, let text = request.fields[.authRequestRedirect], !text.isEmpty else {
            return nil
        }
        // The requested page, which nobody chose as a target: its site's start page is better than none.
        guard let found = resolve(text, request) ?? start(of: text, request) else { throw Failure(.returnToRefused) }
        return usable(found)
    }

    private func isTooLong(_ text: String) -> Bool { text.utf8.count > ReturnTargets.maximumLength }

    /// The target itself, or the start page of its site if it is one of our own addresses.
    private func usable(_ target: ReturnTarget) -> ReturnTarget? {
        guard OAuth2ProxyPath.holds(target, publicURL) else { return target }
        return targets.validate((PublicURL.origin(of: target.location) ?? publicURL.origin) + "/")
    }

    private func start(of text: String, _ request: ServerRequest) -> ReturnTarget? {
        guard !text.hasPrefix("/") else { return resolve("/", request) }
        return PublicURL.origin(of: text).flatMap { resolve($0 + "/", request) }
    }

    /// A path belongs to the site that the trusted proxy serves. An origin matches by its host where no port is given,
    /// and with any scheme: a proxy behind another one does not know it either.
    private func resolve(_ text: String, _ request: ServerRequest) -> ReturnTarget? {
        if text.hasPrefix("/") {
            guard request.isFromTrustedProxy else { return targets.validate(text) }
            let named = try? OriginalRequest(fields: request.fields, style: .forwarded, isFromTrustedProxy: true)
            guard let authority = named?.host ?? request.head.authority else { return targets.validate(text) }
            let ownScheme = String(publicURL.origin.prefix { $0 != ":" })
            let base = origin(authority)?.text ?? "\(named?.scheme ?? ownScheme)://\(authority)"
            return targets.validate(base + text)
        }
        if let target = targets.validate(text) { return target }
        guard let given = PublicURL.origin(of: text), let known = origin(Self.authority(of: given)) else { return nil }
        return targets.validate(known.text + text.dropFirst(given.utf8.count))
    }

    private static func authority(of origin: String) -> String {
        String(origin[(origin.firstRange(of: "://")?.upperBound ?? origin.startIndex)...])
    }
}

/// `rd`, as nginx and others write it.
///
/// 1. The first parameter with this name counts.
/// 2. If its value begins with `/`, or with `http://` or `https://` and a host without `%` and `&`, it was written
///   unencoded (`rd=$scheme://$host$request_uri`): everything that follows, including `&` and further parameters, is
///   the target, and nothing of it is decoded.
/// 3. Otherwise it ends at the next `&` and is decoded as a form value. Repeated, it is refused.
extension OAuth2ProxySite {
    private static func redirectParameter(_ request: ServerRequest) throws(Failure) -> String? {
        guard let query = request.query else { return nil }
        if let rest = redirectRest(of: query), isWrittenOut(rest) { return String(rest) }
        let parameters = Query(request)
        guard parameters.isWhole else { throw .badRequest("too many parameters") }
        return try parameters.given("rd")
    }

    /// From the first `rd=` to the end.
    private static func redirectRest(of query: String) -> Substring? {
        if query.hasPrefix("rd=") { return query.dropFirst(3) }
        return query.firstRange(of: "&rd=").map { query[$0.upperBound...] }
    }

    private static func isWrittenOut(_ text: Substring) -> Bool {
        if text.hasPrefix("/") { return true }
        guard let scheme = ["https://", "http://"].first(where: { text.hasPrefix($0) }) else { return false }
        let authority = text.dropFirst(scheme.count).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        return !authority.contains { $0 == "%" || $0 == "&" }
    }
}
