import Coding
import RelyingParty

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

    /// Apple sent strings until February 2024 and sends booleans since. Anything else, including absence, is false.
    static func isTrue(_ value: JSONValue?) -> Bool {
        value == .bool(true) || value == .string("true")
    }

    /// RFC 5322 §3.4.1, only the dot-atom form: no quoting, no comments, no literals, only ASCII.
    package static func isSafe(_ address: String) -> Bool {
        guard address.utf8.count <= maximumSize, let at = address.utf8.firstIndex(of: UInt8(ascii: "@")) else {
            return false
        }
        let (local, domain) = (address.utf8[..<at], address.utf8[address.utf8.index(after: at)...])
        return local.count <= 64 && isDotAtom(local, also: "!#$%&'*+-/=?^_`{|}~") && isDotAtom(domain, also: "-")
    }

    private static func isDotAtom(_ text: Substring.UTF8View, also symbols: String) -> Bool {
        // An atom is not empty: neither at the ends nor between two dots.
        var isEmpty = true
        for byte in text {
            switch byte {
            case UInt8(ascii: "."):
                if isEmpty { return false }
                isEmpty = true
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: isEmpty = false
            default:
                guard symbols.utf8.contains(byte) else { return false }
                isEmpty = false
            }
        }
        return !isEmpty
    }
}
