/// A time, in whole milliseconds since 1970-01-01T00:00:00Z.
///
/// The domain's only time type: stored in the database, shown in JSON as RFC 3339, and converted at the edge from
/// Apple's seconds (`NumericDate`, RFC 7519 §2).
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

    /// The time `seconds` later; saturates.
    package func adding(seconds: Int64) -> Timestamp {
        adding(milliseconds: Timestamp(seconds: seconds).milliseconds)
    }

    /// The time `milliseconds` later; saturates.
    package func adding(milliseconds other: Int64) -> Timestamp {
        let (value, overflow) = milliseconds.addingReportingOverflow(other)
        return Timestamp(milliseconds: overflow ? (other < 0 ? .min : .max) : value)
    }
}
