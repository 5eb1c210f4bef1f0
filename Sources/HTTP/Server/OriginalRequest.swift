internal import Coding
package import HTTPTypes

/// The request a reverse proxy asks about, as described in its fields (`auth_request`, `forward_auth`).
package struct OriginalRequest: Hashable, Sendable {
    /// `forwardAuth.style`: which fields describe the request; configured, never guessed.
    package enum Style: String, Sendable, CaseIterable {
        /// `X-Forwarded-Proto`, `-Host`, `-Uri` and `-Method`: Caddy, Traefik.
        case forwarded
        /// `X-Original-URL` (absolute, or only path and query), or `X-Original-URI` instead, and `X-Original-Method`:
        /// nginx.
        case original
    }

    package enum Refusal: Error, Hashable, Sendable {
        /// A field is repeated: two readers would pick two values.
        case duplicated
        /// A value is not exactly what a trusted proxy sends: wrong scheme, unusual host, non-canonical path.
        case notCanonical
        /// Required information is missing, or comes from an untrusted proxy.
        case incomplete
        /// The site's name is not configured, so no rule can be applied.
        case unknownSite
    }

    /// `http` or `https`.
    package var scheme: String?
    /// Lower-case, with a port when it was sent.
    package var host: String?
    /// Path and query, percent-encoded.
    package var target: String?
    package var method: HTTPRequest.Method?

    /// Reads the fields of `style`. Missing values are nil.
    /// - Parameters:
    ///   - isFromTrustedProxy: with false, the fields are ignored and everything is nil.
    ///   - isTargetJudged: with false, the path decides nothing: a non-canonical one, such as with an encoded slash, is
    ///     nil instead of refused.
    package init(
        fields: HTTPFields, style: Style, isFromTrustedProxy: Bool, isTargetJudged: Bool = true
    ) throws(Refusal) {
        guard isFromTrustedProxy else { return }
        switch style {
        case .forwarded:
            scheme = try Self.single(.xForwardedProto, fields)
            host = try Self.single(.xForwardedHost, fields)
            target = try Self.single(.xForwardedURI, fields)
            method = try Self.method(.xForwardedMethod, fields)
        case .original:
            let url = try Self.single(.xOriginalURL, fields)
            let uri = try Self.single(.xOriginalURI, fields)
            guard url == nil || uri == nil else { throw .duplicated }
            if let given = url ?? uri { try split(given) }
            method = try Self.method(.xOriginalMethod, fields)
        }
        if let scheme, scheme != "http", scheme != "https" { throw .notCanonical }
        if let host, !Self.isCanonicalHost(host) { throw .notCanonical }
        if let target, !Self.isCanonicalTarget(target) {
            guard !isTargetJudged else { throw .notCanonical }
            self.target = nil
        }
    }

    private mutating func split(_ url: String) throws(Refusal) {
        if url.hasPrefix("/") {
            target = url
            return
        }
        guard let url = AbsoluteURL(url) else { throw .notCanonical }
        scheme = url.scheme
        host = String(url.authority)
        target = url.rest.isEmpty ? "/" : String(url.rest)
    }

    private static func single(_ known: KnownField, _ fields: HTTPFields) throws(Refusal) -> String? {
        let values = fields[values: known.name]
        guard values.count <= 1 else { throw .duplicated }
        return values.first
    }

    private static func method(_ known: KnownField, _ fields: HTTPFields) throws(Refusal) -> HTTPRequest.Method? {
        guard let text = try single(known, fields) else { return nil }
        guard text.utf8.count <= RequestLineScanner.maximumMethodLength, let method = HTTPRequest.Method(text) else {
            throw .notCanonical
        }
        return method
    }

    /// As browsers send it: lower case, and no colon without a port.
    private static func isCanonicalHost(_ host: String) -> Bool {
        let bytes = Array(host.utf8)
        guard HostSyntax.isValid(bytes.span, 0..<bytes.count), bytes.last != ASCII.colon else { return false }
        return !bytes.contains { $0 >= 0x41 && $0 <= 0x5a }
    }

    /// Origin-form of characters that a request line may contain, with complete escapes, a path without dot segments
    /// and hidden separators. Empty segments are the site's own business.
    private static func isCanonicalTarget(_ target: String) -> Bool {
        let question = target.firstIndex(of: "?") ?? target.endIndex
        let path = target[..<question]
        guard path.hasPrefix("/"), path.utf8.allSatisfy({ ByteClass.path.contains($0) }),
            target[question...].utf8.allSatisfy({ ByteClass.query.contains($0) })
        else { return false }
        for segment in path.split(separator: "/") {
            do {
                _ = try PathSegments.parse("/" + segment)
            } catch {
                return false
            }
        }
        return true
    }
}
