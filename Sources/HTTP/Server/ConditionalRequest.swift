internal import Coding
package import HTTPTypes

/// A validator of a representation (RFC 9110 §8.8.3).
package struct EntityTag: Hashable, Sendable {
    package var opaque: String
    package var isWeak: Bool

    /// - Returns: nil when `opaque` contains anything but `etagc`: visible ASCII without quotation marks.
    package init?(_ opaque: String, isWeak: Bool = false) {
        guard opaque.utf8.allSatisfy({ $0 >= 0x21 && $0 != 0x22 && $0 < 0x7f }) else { return nil }
        self.opaque = opaque
        self.isWeak = isWeak
    }

    /// A strong tag from the digest of a representation.
    package init(digest: [UInt8]) {
        opaque = Hexadecimal.encode(digest)
        isWeak = false
    }

    package var fieldValue: String { (isWeak ? "W/\"" : "\"") + opaque + "\"" }

    package func matchesWeakly(_ other: EntityTag) -> Bool { opaque == other.opaque }
    package func matchesStrongly(_ other: EntityTag) -> Bool { !isWeak && !other.isWeak && opaque == other.opaque }
}

/// Evaluates the preconditions of a request in the order of RFC 9110 §13.2.2.
package enum ConditionalRequest {
    package enum Outcome: Hashable, Sendable {
        /// Answer as if there were no precondition.
        case proceed
        /// 304.
        case notModified
        /// 412.
        case preconditionFailed
    }

    /// - Parameters:
    ///   - lastModified: seconds since 1970; nil ignores conditions by date (RFC 9110 §13.1.3, §13.1.4).
    ///   - now: seconds since 1970, for the two-digit years of one date form.
    package static func evaluate(
        method: HTTPRequest.Method, fields: HTTPFields, eTag: EntityTag, lastModified: Int64? = nil, now: Int64 = 0
    ) -> Outcome {
        let isRead = method == .get || method == .head
        if let value = fields[.ifMatch] {
            let matches = names(value) { $0.matchesStrongly(eTag) }
            if !matches { return .preconditionFailed }
        } else if let lastModified, let date = date(.ifUnmodifiedSince, fields, now), lastModified > date {
            return .preconditionFailed
        }
        if let value = fields[.ifNoneMatch] {
            let matches = names(value) { $0.matchesWeakly(eTag) }
            if matches { return isRead ? .notModified : .preconditionFailed }
        } else if isRead, let lastModified, let date = date(.ifModifiedSince, fields, now), lastModified <= date {
            return .notModified
        }
        return .proceed
    }

    /// Whether the value of `If-Match` or `If-None-Match` (RFC 9110 §13.1.1, §13.1.2) is `*`, or lists a tag that matches.
    /// One that is neither `*` nor a list of entity tags names none.
    private static func names(_ value: String, _ matches: (EntityTag) -> Bool) -> Bool {
        if value == "*" { return true }
        var isNamed = false
        var rest = Substring(value)
        while true {
            rest = rest.drop { $0 == " " || $0 == "\t" || $0 == "," }
            guard !rest.isEmpty else { return isNamed }
            let isWeak = rest.hasPrefix("W/")
            if isWeak { rest = rest.dropFirst(2) }
            guard rest.first == "\"" else { return false }
            rest = rest.dropFirst()
            guard let close = rest.firstIndex(of: "\""), let tag = EntityTag(String(rest[..<close]), isWeak: isWeak)
            else { return false }
            if matches(tag) { isNamed = true }
            rest = rest[rest.index(after: close)...].drop { $0 == " " || $0 == "\t" }
            guard rest.isEmpty || rest.first == "," else { return false }
        }
    }

    /// A field that is sent twice or is not a date is ignored (RFC 9110 §13.1.3).
    private static func date(_ name: HTTPField.Name, _ fields: HTTPFields, _ now: Int64) -> Int64? {
        let values = fields[values: name]
        guard values.count == 1 else { return nil }
        return HTTPDate.parse(values[0], now: now)
    }
}
