import Accounts
package import Coding

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

    package static func isTrue(_ value: JSONValue?) -> Bool {
        flag(value) == true
    }

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
