import Coding
import RelyingParty

/// Reads an address with its flags from verified claims.
package enum EmailClaims {
    /// RFC 5321 §4.5.3.1.3: a path of 256 with its angle brackets.
    static let maximumSize = 254

    /// nil when there is none, when it is empty, or when it could not stand in a header field. A missing address never
    /// stops a sign-in: Work & School accounts have none.
    static func read(_ claims: JSONObject) -> EmailAddress? {
        guard let address = claims["email"]?.stringValue, isSafe(address) else { return nil }
        return EmailAddress(
            address: address, isVerified: isTrue(claims["email_verified"]),
            isPrivate: isTrue(claims["is_private_email"]))
    }

    /// Apple sent strings until February 2024 and sends booleans since. Anything else, absence included, is false.
    static func isTrue(_ value: JSONValue?) -> Bool {
        value == .bool(true) || value == .string("true")
    }

    /// RFC 5322 §3.4.1, the dot-atom form only: no quoting, no comments, no literals, nothing but ASCII.
    package static func isSafe(_ address: String) -> Bool {
        guard address.utf8.count <= maximumSize else { return false }
        let parts = address.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, isDotAtom(parts[0], also: "!#$%&'*+-/=?^_`{|}~"), isDotAtom(parts[1], also: "-")
        else { return false }
        return parts[0].utf8.count <= 64
    }

    private static func isDotAtom(_ text: Substring, also symbols: String) -> Bool {
        text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { atom in
            !atom.isEmpty
                && atom.utf8.allSatisfy { byte in
                    switch byte {
                    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                    default: symbols.utf8.contains(byte)
                    }
                }
        }
    }
}
