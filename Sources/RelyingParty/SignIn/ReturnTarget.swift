import Coding

/// Where a browser goes after signing in. Only `ReturnTargets` makes one, so a `Location` is never an open redirect.
package struct ReturnTarget: Hashable, Sendable {
    /// What a 303 carries: a path of our origin, or an absolute URL on an allowed origin; ASCII without controls.
    package let location: String

    fileprivate init(location: String) {
        self.location = location
    }
}

extension ReturnTarget {
    /// The target with the word that the sign-in was cancelled (RFC 6749 §4.1.2.1, with Apple's code): all that an
    /// application is told, behind its own query and before its fragment.
    package var cancelled: String { AddressQuery.append("error=user_cancelled_authorize", to: location) }
}

/// The targets `return_to` may name: a path of ours, or an absolute URL on publicURL's origin or on exactly one of
/// `login.allowedReturnOrigins` (ASVS 3.7.2). Asked when an attempt is sealed and again when it is opened.
package struct ReturnTargets: Sendable {
    /// The longest `return_to`, in bytes.
    package static let maximumLength = 2_000

    /// The longest `error_return`, in bytes: sealed with `return_to`, and both go to Apple in one address.
    package static let maximumErrorReturnLength = 1_000

    private let origins: Set<String>
    /// Where to go when nothing was asked: `login.defaultReturnTo`.
    package let defaultTarget: ReturnTarget

    /// - Parameters:
    ///   - publicURL: origin and base path, without a trailing slash.
    ///   - allowedOrigins: exact origins besides publicURL's; what is no origin allows nothing.
    ///   - defaultTarget: from configuration, so it is not held against the allowed origins.
    package init(publicURL: String, allowedOrigins: [String], defaultTarget: String) {
        var origins: Set<String> = []
        if let own = URLParts(publicURL) { origins.insert(own.origin) }
        for text in allowedOrigins {
            if let parts = URLParts(text), parts.rest.isEmpty || parts.rest == "/" { origins.insert(parts.origin) }
        }
        self.origins = origins
        self.defaultTarget = ReturnTarget(location: defaultTarget)
    }

    /// - Parameter returnTo: the decoded value of `return_to`; nil or empty means the default.
    /// - Returns: nil when it names nothing of ours.
    package func validate(_ returnTo: String?) -> ReturnTarget? {
        guard let returnTo, !returnTo.isEmpty else { return defaultTarget }
        if returnTo == defaultTarget.location { return defaultTarget }
        guard returnTo.utf8.count <= Self.maximumLength else { return nil }
        if returnTo.utf8.first == UInt8(ascii: "/") {
            return Self.safePath(returnTo).map { ReturnTarget(location: $0) }
        }
        guard let parts = URLParts(returnTo), origins.contains(parts.origin) else { return nil }
        let path = parts.rest.first == "/" ? parts.rest : "/" + parts.rest
        return Self.safePath(path).map { ReturnTarget(location: parts.origin + $0) }
    }

    /// Where a sign-in that is cancelled at Apple leads, by the rules of `return_to`.
    /// - Parameter errorReturn: the decoded value of `error_return`, not empty.
    package func validate(errorReturn: String) -> ReturnTarget? {
        guard !errorReturn.isEmpty, let target = validate(errorReturn),
            target.location.utf8.count <= Self.maximumErrorReturnLength
        else { return nil }
        return target
    }

    /// A path with optional query and fragment that every URL parser reads as a path, non-ASCII percent-encoded.
    ///
    /// Browsers drop tabs and newlines, read `\` as `/`, and proxies decode `%2f`: so none of them may stand where it
    /// could turn the path into an authority, and controls stand nowhere.
    private static func safePath(_ text: String) -> String? {
        var encoded: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case 0x21...0x7E where byte != UInt8(ascii: "\\"): encoded.append(byte)
            case 0x80...0xFF: encoded += percentEncoded(byte)
            default: return nil
            }
        }
        let path = encoded.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        // As it will be sealed and sent: escaping triples what is not ASCII, and a longer state would never open.
        guard encoded.count <= maximumLength, isWellFormed(encoded, path: path) else { return nil }
        // What a decoder on the way would see: no second slash in front, no dot segment, no control.
        let decoded = decodingPercents(Array(path))
        guard decoded.first == UInt8(ascii: "/") else { return nil }
        if decoded.count > 1, decoded[1] == UInt8(ascii: "/") || decoded[1] == UInt8(ascii: "\\") { return nil }
        let segments = decoded.split(omittingEmptySubsequences: false) {
            $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\")
        }
        let dot = UInt8(ascii: ".")
        guard !segments.contains(where: { Array($0) == [dot] || Array($0) == [dot, dot] }) else { return nil }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Every `%` of the path begins an escape, and no escape anywhere is a control (RFC 3986 §2.1).
    private static func isWellFormed(_ bytes: [UInt8], path: ArraySlice<UInt8>) -> Bool {
        for (index, byte) in bytes.enumerated() where byte == UInt8(ascii: "%") {
            if let value = escape(in: bytes, at: index) {
                if value < 0x20 || value == 0x7F { return false }
            } else if index < path.endIndex {
                return false
            }
        }
        return true
    }

    private static func decodingPercents(_ bytes: [UInt8]) -> [UInt8] {
        var decoded: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%"), let value = escape(in: bytes, at: index) {
                decoded.append(value)
                index += 3
            } else {
                decoded.append(bytes[index])
                index += 1
            }
        }
        return decoded
    }

    private static func escape(in bytes: [UInt8], at index: Int) -> UInt8? {
        guard index + 2 < bytes.count, let high = hexadecimal(bytes[index + 1]), let low = hexadecimal(bytes[index + 2])
        else { return nil }
        return high << 4 | low
    }

    private static func hexadecimal(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    private static func percentEncoded(_ byte: UInt8) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
}

/// An absolute `http` or `https` URL split into its origin, in one canonical spelling, and the rest.
private struct URLParts {
    /// `scheme://host[:port]`: lower case, without a default port.
    var origin: String
    /// Everything after the authority.
    var rest: String

    init?(_ text: String) {
        guard let schemeEnd = text.firstRange(of: "://") else { return nil }
        let scheme = text[..<schemeEnd.lowerBound].lowercased()
        guard scheme == "https" || scheme == "http" else { return nil }
        let afterScheme = text[schemeEnd.upperBound...]
        let end = afterScheme.firstIndex { "/?#".contains($0) } ?? afterScheme.endIndex
        guard let authority = Self.authority(afterScheme[..<end], scheme: scheme) else { return nil }
        self.origin = scheme + "://" + authority
        self.rest = String(afterScheme[end...])
    }

    /// `host[:port]` of letters, digits, dots and hyphens, or an IPv6 literal: no userinfo, nothing encoded, nothing
    /// that two parsers could read in two ways.
    private static func authority(_ text: Substring, scheme: String) -> String? {
        let allowed = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: ":"),
                UInt8(ascii: "["), UInt8(ascii: "]"):
                true
            default: false
            }
        }
        guard allowed else { return nil }
        let lowercased = text.lowercased()
        let host: Substring
        var port: Substring?
        if lowercased.hasPrefix("[") {
            guard let close = lowercased.firstIndex(of: "]") else { return nil }
            host = lowercased[...close]
            let rest = lowercased[lowercased.index(after: close)...]
            if !rest.isEmpty {
                guard rest.first == ":" else { return nil }
                port = rest.dropFirst()
            }
        } else {
            let parts = lowercased.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count <= 2, let first = parts.first, !first.contains("["), !first.contains("]") else {
                return nil
            }
            host = first
            port = parts.count == 2 ? parts[1] : nil
        }
        guard !host.isEmpty else { return nil }
        guard let port else { return String(host) }
        // Digits only, and no leading zero: some parsers read that as octal.
        guard let number = UInt16(port), number > 0, String(number) == port else { return nil }
        let isDefault = (scheme == "https" && number == 443) || (scheme == "http" && number == 80)
        return isDefault ? String(host) : "\(host):\(number)"
    }
}
