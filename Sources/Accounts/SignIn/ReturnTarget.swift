import Coding

/// Where a browser goes after signing in. Only `ReturnTargets` makes one, so a `Location` is never an open redirect.
package struct ReturnTarget: Hashable, Sendable {
    /// The value for a 303: a path of our origin, or an absolute URL on an allowed origin; printable ASCII.
    package let location: String
    /// Whether it is an application's authorization request (`/oidc/authorize`), which continues after the sign-in.
    package let isAuthorizeRequest: Bool

    fileprivate init(location: String, isAuthorizeRequest: Bool = false) {
        self.location = location
        self.isAuthorizeRequest = isAuthorizeRequest
    }

    /// The target with a cancelled sign-in's error (RFC 6749 §4.1.2.1, with Apple's code) in its query.
    package var cancelled: String { AddressQuery.append("error=user_cancelled_authorize", to: location) }

    /// The default target of a cancelled sign-in: an application gets the error.
    package var cancelReturn: ReturnTarget? { isAuthorizeRequest ? self : nil }
}

/// The targets that `return_to` may name: a path of ours, or an absolute URL on publicURL's origin or on exactly one of
/// `login.allowedReturnOrigins` (ASVS 3.7.2). Checked when an attempt is sealed and again when it is opened.
package struct ReturnTargets: Sendable {
    /// The longest `return_to`, in bytes.
    package static let maximumLength = 2_000

    /// The longest `error_return`, in bytes: it is sealed with `return_to`, and both go to Apple in one address.
    package static let maximumErrorReturnLength = 1_000

    /// The longest authorization request, in bytes: it needs no `error_return`.
    package static let maximumAuthorizeLength = maximumLength + maximumErrorReturnLength

    private let origins: Set<String>
    /// `/oidc/authorize` below publicURL, with the `?` of its query.
    private let authorizePrefix: String
    /// The target when none is given: `login.defaultReturnTo`.
    package let defaultTarget: ReturnTarget

    /// `publicURL` without a trailing slash; exact origins besides its own, of which invalid ones are ignored; and
    /// the configured default target, which need not be on an allowed origin.
    package init(publicURL: String, allowedOrigins: [String], defaultTarget: String) {
        var origins: Set<String> = []
        let own = URLParts(publicURL)
        if let own { origins.insert(own.origin) }
        authorizePrefix = (own?.rest ?? "") + "/oidc/authorize?"
        for text in allowedOrigins {
            if let parts = URLParts(text), parts.rest.isEmpty || parts.rest == "/" { origins.insert(parts.origin) }
        }
        self.origins = origins
        self.defaultTarget = ReturnTarget(location: defaultTarget)
    }

    /// The target for a decoded `return_to`, nil or empty for the default. Nil when it is not allowed.
    package func validate(_ returnTo: String?) -> ReturnTarget? {
        guard let returnTo, !returnTo.isEmpty else { return defaultTarget }
        if returnTo == defaultTarget.location { return defaultTarget }
        if returnTo.hasPrefix(authorizePrefix) {
            return Self.safePath(returnTo, maximum: Self.maximumAuthorizeLength).map {
                ReturnTarget(location: $0, isAuthorizeRequest: true)
            }
        }
        guard returnTo.utf8.count <= Self.maximumLength else { return nil }
        if returnTo.utf8.first == UInt8(ascii: "/") {
            return Self.safePath(returnTo).map { ReturnTarget(location: $0) }
        }
        guard let parts = URLParts(returnTo), origins.contains(parts.origin) else { return nil }
        let path = parts.rest.first == "/" ? parts.rest : "/" + parts.rest
        return Self.safePath(path).map { ReturnTarget(location: parts.origin + $0) }
    }

    /// The target of a cancelled sign-in: a decoded `error_return`, not empty, by the rules of `return_to`.
    package func validate(errorReturn: String) -> ReturnTarget? {
        guard !errorReturn.isEmpty, let target = validate(errorReturn), !target.isAuthorizeRequest,
            target.location.utf8.count <= Self.maximumErrorReturnLength
        else { return nil }
        return target
    }

    /// A path with optional query and fragment that every URL parser reads as a path, with non-ASCII percent-encoded.
    ///
    /// Browsers drop tabs and newlines and read `\` as `/`, and proxies decode `%2f`: none of them may appear where it
    /// could turn the path into an authority, and control characters nowhere.
    private static func safePath(_ text: String, maximum: Int = maximumLength) -> String? {
        var encoded: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case 0x21...0x7E where byte != UInt8(ascii: "\\"): encoded.append(byte)
            case 0x80...0xFF: PercentEncoding.appendEscape(of: byte, to: &encoded)
            default: return nil
            }
        }
        let path = encoded.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        // Measured as it will be sealed and sent: escaping triples non-ASCII, and a longer state would never open.
        guard encoded.count <= maximum, isWellFormed(encoded, path: path) else { return nil }
        // As a decoding proxy would see it: no second slash in front, no dot segment, no control character.
        guard let decoded = PercentEncoding.decode(Array(path)), decoded.first == UInt8(ascii: "/") else { return nil }
        if decoded.count > 1, decoded[1] == UInt8(ascii: "/") || decoded[1] == UInt8(ascii: "\\") { return nil }
        let segments = decoded.split(omittingEmptySubsequences: false) {
            $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\")
        }
        let dot = UInt8(ascii: ".")
        guard !segments.contains(where: { Array($0) == [dot] || Array($0) == [dot, dot] }) else { return nil }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Every `%` of the path begins an escape, and no escape is a control character (RFC 3986 §2.1).
    private static func isWellFormed(_ bytes: [UInt8], path: ArraySlice<UInt8>) -> Bool {
        for (index, byte) in bytes.enumerated() where byte == UInt8(ascii: "%") {
            if let value = PercentEncoding.escapedByte(in: bytes.span, at: index) {
                if value < 0x20 || value == 0x7F { return false }
            } else if index < path.endIndex {
                return false
            }
        }
        return true
    }
}

/// An absolute `http` or `https` URL, split into its origin, in canonical spelling, and the rest.
private struct URLParts {
    /// `scheme://host[:port]`: lower case, without a default port.
    var origin: String
    /// Everything after the authority.
    var rest: String

    init?(_ text: String) {
        guard let schemeEnd = text.firstRange(of: "://")?.lowerBound,
            let url = AbsoluteURL(text[..<schemeEnd].lowercased() + text[schemeEnd...]), url.hasPlainAuthority,
            let (host, portText) = url.hostAndPort
        else { return nil }
        rest = String(url.rest)
        origin = url.scheme + "://" + host.lowercased()
        guard let portText else { return }
        // Only digits, and no leading zero: some parsers read that as octal.
        guard let port = UInt16(portText), port > 0, String(port) == portText else { return nil }
        if port != url.defaultPort { origin += ":\(port)" }
    }
}
