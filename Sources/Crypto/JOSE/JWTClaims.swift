package import Coding

// The claims of a JSON Web Token (RFC 7519 §4). Only as trustworthy as its signature, if that was verified.
extension JSONObject {
    /// - Parameter payload: strict JSON, an object.
    package static func claims(_ payload: [UInt8]) throws(JOSEError) -> JSONObject {
        try parse(payload, part: "payload")
    }

    /// Seconds since 1970 (NumericDate, RFC 7519 §2), rounded down to milliseconds.
    ///
    /// - Returns: nil when absent, not a number, negative, not finite, or 2^53 and more.
    package func numericDate(_ name: String) -> Timestamp? {
        // From here on a double no longer represents every integer.
        let end: Int64 = 1 << 53
        guard case .number(let number)? = self[name] else { return nil }
        if let seconds = number.int64 { return (0..<end).contains(seconds) ? Timestamp(seconds: seconds) : nil }
        guard let seconds = number.double, seconds >= 0, seconds < Double(end) else { return nil }
        return Timestamp(milliseconds: Int64((seconds * 1000).rounded(.down)))
    }

    /// `aud`: one string or an array of strings (RFC 7519 §4.1.3). Empty when absent or anything else.
    package var audience: [String] {
        if case .string(let text)? = self["aud"] { [text] } else { self["aud"]?.textsValue ?? [] }
    }
}
