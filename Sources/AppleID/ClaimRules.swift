import Accounts
package import Coding
import Crypto

/// The checks that identity tokens and notifications share. All run before any cryptography.
enum ClaimRules {
    /// Tolerance between Apple's clock and ours, in seconds, in both directions.
    static let maximumSkew: Int64 = 60
    /// Longest opaque identifier accepted (`sub`, `jti`, `transfer_sub`), in bytes. OpenID Connect Core §2 has 255.
    static let maximumIdentifierSize = 255

    static func validateIssuer(_ claims: JSONObject, issuers: [String]) throws(Failure) -> String {
        guard let issuer = claims["iss"]?.stringValue else { throw .refused("iss is missing") }
        guard issuers.contains(where: issuer.isExactly) else { throw .refused("iss is not Apple's") }
        return issuer
    }

    /// `aud` is one of `allowed`, as a string or as an array that names no other; `azp`, if present, is that client.
    static func validateAudience(_ claims: JSONObject, allowed: [String]) throws(Failure) -> String {
        let audiences: [String]
        switch claims["aud"] {
        case nil: throw .refused("aud is missing")
        case .string(let audience): audiences = [audience]
        case let value?:
            guard let texts = value.textsValue else { throw .refused("aud is mistyped") }
            audiences = texts
        }
        // Further audiences are refused: a token that is also meant for another audience is not meant only for us.
        guard let audience = audiences.first, audiences.allSatisfy(audience.isExactly),
            allowed.contains(where: audience.isExactly)
        else { throw .refused("aud is not ours") }
        if let party = claims["azp"] {
            guard party == .string(audience) else { throw .refused("azp is not ours") }
        }
        return audience
    }

    /// The single client of a token that is meant for none of `allowed`; nil when `aud` is ours, several or unusable.
    static func otherAudience(_ claims: JSONObject, than allowed: [String]) -> String? {
        let audience =
            switch claims["aud"] {
            case .string(let audience): audience
            case .array(let values): values.count == 1 ? values[0].stringValue : nil
            default: nil as String?
            }
        guard let audience, isIdentifier(audience), !allowed.contains(where: audience.isExactly) else { return nil }
        return audience
    }

    /// `exp` and `iat` are required, `nbf` is honoured; each within the tolerance.
    static func validateTimes(_ claims: JSONObject, at now: Timestamp) throws(Failure) -> Timestamp {
        guard let expiry = claims.numericDate("exp") else { throw .refused("exp is missing or mistyped") }
        guard let issuedAt = claims.numericDate("iat") else { throw .refused("iat is missing or mistyped") }
        guard expiry > issuedAt else { throw .refused("exp is not after iat") }
        if claims["nbf"] != nil {
            guard let notBefore = claims.numericDate("nbf") else { throw .refused("nbf is mistyped") }
            guard notBefore <= now.adding(seconds: maximumSkew) else { throw .clock("nbf is in the future") }
        }
        guard issuedAt <= now.adding(seconds: maximumSkew) else { throw .clock("iat is in the future") }
        guard now < expiry.adding(seconds: maximumSkew) else { throw .clock("exp has passed") }
        return issuedAt
    }

    /// A required opaque identifier: a non-empty string of bounded length, printable ASCII.
    static func identifier(_ name: String, in claims: JSONObject) throws(Failure) -> String {
        guard let value = claims[name] else { throw .refused("\(name) is missing") }
        guard let text = value.stringValue, isIdentifier(text) else { throw .refused("\(name) is unusable") }
        return text
    }

    /// The same where it may be absent: nil also when it is unusable.
    static func optionalIdentifier(_ name: String, in claims: JSONObject) -> String? {
        claims[name]?.stringValue.flatMap { isIdentifier($0) ? $0 : nil }
    }

    static func isIdentifier(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= maximumIdentifierSize && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }

    /// Compares in constant time.
    static func isSame(_ left: String, _ right: String) -> Bool {
        constantTimeEquals(Array(left.utf8), Array(right.utf8))
    }

    /// `c_hash` and `at_hash`: the left half of the SHA-256 of the value, OpenID Connect Core §3.3.2.11.
    static func halfHash(of value: String) -> String {
        Base64URL.encode(Array(SHA256.hash(utf8: value).bytes.prefix(16)))
    }
}

/// Reads an address with its flags from verified claims.
package enum EmailClaims {
    /// RFC 5321 §4.5.3.1.3: a path of 256 with its angle brackets.
    static let maximumSize = 254

    /// Nil when there is none, when it is empty, or when it could not be in a header field. A missing address never
    /// stops a sign-in: Work & School accounts have none.
    static func read(_ claims: JSONObject) -> EmailAddress? {
        guard let address = claims["email"]?.stringValue, isSafe(address) else { return nil }
        return EmailAddress(
            address: address, isVerified: isTrue(claims["email_verified"]),
            isPrivate: isTrue(claims["is_private_email"]))
    }

    /// Apple sent strings until February 2024 and sends booleans since. Nil for anything else, including absence.
    package static func flag(_ value: JSONValue?) -> Bool? {
        switch value {
        case true, "true": true
        case false, "false": false
        default: nil
        }
    }

    package static func isTrue(_ value: JSONValue?) -> Bool { flag(value) == true }

    /// RFC 5322 §3.4.1, only the dot-atom form: no quoting, no comments, no literals. Letters, marks and digits of any
    /// script (RFC 6531 §3.3), nothing else of Unicode.
    package static func isSafe(_ address: String) -> Bool {
        guard address.utf8.count <= maximumSize, let at = address.utf8.firstIndex(of: UInt8(ascii: "@")) else {
            return false
        }
        let (local, domain) = (address[..<at], address[address.index(after: at)...])
        return local.utf8.count <= 64 && isDotAtom(local, also: "!#$%&'*+-/=?^_`{|}~") && isDotAtom(domain, also: "-")
    }

    private static func isDotAtom(_ text: Substring, also symbols: String) -> Bool {
        // An atom is not empty: neither at the ends nor between two dots.
        var isEmpty = true
        for scalar in text.unicodeScalars {
            switch scalar {
            case ".":
                if isEmpty { return false }
                isEmpty = true
            case "0"..."9", "A"..."Z", "a"..."z": isEmpty = false
            default:
                guard scalar.isASCII ? symbols.unicodeScalars.contains(scalar) : isLetter(scalar) else { return false }
                isEmpty = false
            }
        }
        return !isEmpty
    }

    private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
        guard !scalar.properties.isDefaultIgnorableCodePoint else { return false }
        return switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
            .spacingMark, .decimalNumber:
            true
        default: false
        }
    }
}
