internal import Coding
package import HTTPTypes

/// The request a reverse proxy asks about, as described in its fields (`auth_request`, `forward_auth`).
package struct OriginalRequest: Hashable, Sendable {
    /// `forwardAuth.style`: which fields describe the request; configured, never guessed.
    package enum Style: String, Sendable, CaseIterable {
        /// `X-Forwarded-Proto`, `-Host`, `-Uri` and `-Method`: Caddy, Traefik.
        case forwarded
        /// `X-Original-URL` or `X-Original-URI` (absolute, or path and query), and `X-Original-Method`: nginx.
        case original

        /// The fields that name the site, the address and the method.
        package var hostField: String { self == .forwarded ? "X-Forwarded-Host" : "X-Original-URL" }
        package var targetField: String { self == .forwarded ? "X-Forwarded-Uri" : "X-Original-URL" }
        package var methodField: String { self == .forwarded ? "X-Forwarded-Method" : "X-Original-Method" }
    }

    /// Why a request cannot be judged, with the field that is at fault.
    package enum Refusal: Error, Hashable, Sendable {
        /// A field is repeated: two readers would pick two values.
        case duplicated(String)
        /// A value that two readers may read in two ways: no scheme, no host, an ambiguous path.
        case notCanonical(String)
        /// Required information is missing, or comes from an untrusted proxy.
        case incomplete(String)
        /// The site's name is not configured, so no rule can be applied.
        case unknownSite

        /// For the log.
        package var text: String {
            switch self {
            case .duplicated(let field): "duplicated: \(field)"
            case .notCanonical(let field): "notCanonical: \(field)"
            case .incomplete(let field): "incomplete: \(field)"
            case .unknownSite: "unknownSite"
            }
        }
    }

    /// `http` or `https`.
    package var scheme: String?
    /// Lower-case, with a port when it was sent.
    package var host: String?
    /// Path and query as they were sent, of visible ASCII.
    package var target: String?
    /// Why the path cannot be compared with rules: it is missing, or an application could read another one in it.
    /// Without rules by path, nothing depends on it (GitLab and npm have encoded slashes in theirs).
    package private(set) var targetFault: Refusal?
    package var method: HTTPRequest.Method?

    /// Reads the fields of `style`. Missing values are nil.
    /// - Parameter isFromTrustedProxy: with false, the fields are ignored and everything is nil.
    package init(fields: HTTPFields, style: Style, isFromTrustedProxy: Bool) throws(Refusal) {
        targetFault = .incomplete(style.targetField)
        guard isFromTrustedProxy else { return }
        var targetField = style.targetField
        switch style {
        case .forwarded:
            scheme = try Self.single(.xForwardedProto, "X-Forwarded-Proto", fields)
            host = try Self.single(.xForwardedHost, "X-Forwarded-Host", fields)
            target = try Self.single(.xForwardedURI, "X-Forwarded-Uri", fields)
            method = try Self.method(.xForwardedMethod, style, fields)
        case .original:
            let url = try Self.single(.xOriginalURL, "X-Original-URL", fields)
            let uri = try Self.single(.xOriginalURI, "X-Original-URI", fields)
            guard url == nil || uri == nil else { throw .duplicated("X-Original-URL, X-Original-URI") }
            if uri != nil { targetField = "X-Original-URI" }
            if let given = url ?? uri { try split(given, targetField) }
            method = try Self.method(.xOriginalMethod, style, fields)
        }
        if let scheme { self.scheme = try Self.webScheme(scheme, style) }
        if let host {
            self.host = host.lowercased()
            guard Self.isHost(host) else { throw .notCanonical(style == .forwarded ? style.hostField : targetField) }
        }
        guard let target else { return }
        targetFault = Self.isCanonicalTarget(target) ? nil : .notCanonical(targetField)
        let isVisible = target.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        if !isVisible || !target.hasPrefix("/") { self.target = nil }
    }

    /// In any case; a proxy names a WebSocket's scheme `ws` or `wss` (RFC 6455 §3).
    private static func webScheme(_ text: String, _ style: Style) throws(Refusal) -> String {
        switch text.lowercased() {
        case "http", "ws": return "http"
        case "https", "wss": return "https"
        default: throw .notCanonical(style == .forwarded ? "X-Forwarded-Proto" : style.hostField)
        }
    }

    private mutating func split(_ url: String, _ field: String) throws(Refusal) {
        if url.hasPrefix("/") {
            target = url
            return
        }
        guard let url = AbsoluteURL(url) else { throw .notCanonical(field) }
        scheme = url.scheme
        host = String(url.authority)
        target = url.rest.isEmpty ? "/" : String(url.rest)
    }

    /// - Parameter name: of the field, for the log.
    private static func single(_ known: KnownField, _ name: String, _ fields: HTTPFields) throws(Refusal) -> String? {
        let values = fields[values: known.name]
        guard values.count <= 1 else { throw .duplicated(name) }
        return values.first
    }

    private static func method(
        _ known: KnownField, _ style: Style, _ fields: HTTPFields
    ) throws(Refusal) -> HTTPRequest.Method? {
        guard let text = try single(known, style.methodField, fields) else { return nil }
        guard text.utf8.count <= RequestLineScanner.maximumMethodLength, let method = HTTPRequest.Method(text) else {
            throw .notCanonical(style.methodField)
        }
        return method
    }

    /// Its only colon, if any, is before a port.
    private static func isHost(_ host: String) -> Bool {
        let bytes = Array(host.utf8)
        return HostSyntax.isValid(bytes.span, 0..<bytes.count) && bytes.last != ASCII.colon
    }

    /// Origin-form of characters that a request line may contain, with complete escapes, a path without dot segments
    /// and hidden separators. Empty segments are the site's own business.
    private static func isCanonicalTarget(_ target: String) -> Bool {
        let question = target.firstIndex(of: "?") ?? target.endIndex
        let path = target[..<question]
        guard path.hasPrefix("/"), path.utf8.allSatisfy({ ByteClass.path.contains($0) }),
            target[question...].utf8.allSatisfy({ ByteClass.query.contains($0) })
        else { return false }
        return path.split(separator: "/").allSatisfy { (try? PathSegments.parse("/" + $0)) != nil }
    }
}
