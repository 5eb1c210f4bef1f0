package import Coding

/// `Retry-After` (RFC 9110 §10.2.3).
package enum RetryAfter {
    /// Milliseconds from `now`, not negative; nil when the field is absent or neither a number of seconds nor a date.
    package static func milliseconds(_ field: String?, at now: Timestamp) -> Int64? {
        guard let field else { return nil }
        if !field.isEmpty, field.utf8.allSatisfy({ $0 >= ASCII.zero && $0 <= ASCII.nine }) {
            // Longer than any pause that is honoured.
            guard field.utf8.count <= 9, let seconds = Int64(field) else { return 1_000_000_000_000 }
            return seconds * 1000
        }
        guard let seconds = HTTPDate.parse(field, now: now.milliseconds / 1000) else { return nil }
        return max(0, seconds * 1000 - now.milliseconds)
    }
}
