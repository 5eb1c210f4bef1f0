import Coding
package import Crypto

/// The value of the cookie `__Host-bramley-login`: 256 random bits that tie an attempt to one browser (RFC 9700 §4.7).
/// It authenticates nobody and lives as long as an attempt. The sealed attempt and the database hold only its hash.
package struct BrowserBinding: Redacted {
    /// Characters of the cookie's value: 32 bytes in unpadded base64url.
    package static let characterCount = 43

    /// The cookie's content. Only for `Set-Cookie`.
    package let cookieValue: String
    /// SHA-256 of the cookie's value.
    package let hash: Digest256

    package static func make(random: any RandomSource) -> BrowserBinding {
        BrowserBinding(trusted: Base64URL.encode(random.bytes(32)))
    }

    /// Parses a cookie's value; nil unless it is exactly what `make` could have written.
    package init?(cookie: String) {
        guard cookie.utf8.count == Self.characterCount, Base64URL.decode(cookie) != nil else { return nil }
        self.init(trusted: cookie)
    }

    private init(trusted cookieValue: String) {
        self.cookieValue = cookieValue
        self.hash = SHA256.hash(utf8: cookieValue)
    }
}

/// What a request's cookies say about the binding.
package enum BindingCookie: Sendable {
    /// There is no cookie of that name.
    case absent
    case value(BrowserBinding)
    /// One that we never wrote, or several of that name.
    case invalid
}
