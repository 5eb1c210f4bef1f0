package import Coding

/// The claims of a JSON Web Token (RFC 7519 §4). Only as trustworthy as its signature, if that was verified.
package struct JWTClaims: Hashable, Sendable {
    package let object: JSONObject

    package init(_ object: JSONObject) {
        self.object = object
    }

    /// - Parameter payload: strict JSON, an object.
    package static func parse(_ payload: [UInt8]) throws(JOSEError) -> JWTClaims {
        JWTClaims(try JSONObject.parse(payload, part: "payload"))
    }

    package subscript(name: String) -> JSONValue? { object[name] }

    /// Whether the claim is present, whatever its value: distinguishes an absent claim from an unusable one.
    package func contains(_ name: String) -> Bool {
        object[name] != nil
    }

    /// Nil when absent or not a string.
    package func string(_ name: String) -> String? {
        object[name]?.stringValue
    }

    /// Seconds since 1970 (NumericDate, RFC 7519 §2), rounded down to milliseconds.
    ///
    /// - Returns: nil when absent, not a number, negative, not finite, or 2^53 and more.
    package func numericDate(_ name: String) -> Timestamp? {
        guard case .number(let number)? = object[name] else { return nil }
        if let seconds = number.int64 {
            return (0..<Self.exclusiveLimit).contains(seconds) ? Timestamp(seconds: seconds) : nil
        }
        guard let seconds = number.double, seconds >= 0, seconds < Double(Self.exclusiveLimit) else { return nil }
        return Timestamp(milliseconds: Int64((seconds * 1000).rounded(.down)))
    }

    /// `aud`: one string or an array of strings (RFC 7519 §4.1.3). Empty when absent or anything else.
    package var audience: [String] {
        switch object["aud"] {
        case .string(let text): return [text]
        case .array(let elements):
            let texts = elements.compactMap(\.stringValue)
            return texts.count == elements.count ? texts : []
        default: return []
        }
    }

    /// From here on a double no longer represents every integer.
    private static let exclusiveLimit: Int64 = 1 << 53
}
