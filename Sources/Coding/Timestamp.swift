/// A moment, in whole milliseconds since 1970-01-01T00:00:00Z.
///
/// The one time type of the domain: what the database stores, what JSON shows as RFC 3339, and what Apple's
/// seconds (`NumericDate`, RFC 7519 §2) are converted to at the edge.
package struct Timestamp: Hashable, Comparable, Sendable {
    package var milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// - Parameter seconds: seconds since 1970; saturates at the range of `Int64` milliseconds.
    package init(seconds: Int64) {
        let (value, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        self.milliseconds = overflow ? (seconds < 0 ? .min : .max) : value
    }

    /// Whole seconds since 1970, rounded down.
    package var seconds: Int64 {
        milliseconds >= 0 ? milliseconds / 1000 : (milliseconds - 999) / 1000
    }

    package static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// The moment `seconds` later; saturates.
    package func adding(seconds: Int64) -> Timestamp {
        adding(milliseconds: Timestamp(seconds: seconds).milliseconds)
    }

    /// The moment `milliseconds` later; saturates.
    package func adding(milliseconds other: Int64) -> Timestamp {
        let (value, overflow) = milliseconds.addingReportingOverflow(other)
        return Timestamp(milliseconds: overflow ? (other < 0 ? .min : .max) : value)
    }
}
