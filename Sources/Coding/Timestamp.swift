/// A time, in whole milliseconds since 1970-01-01T00:00:00Z.
///
/// The domain's only time type: stored in the database, shown in JSON as RFC 3339, and converted at the edge from
/// Apple's seconds (`NumericDate`, RFC 7519 §2).
package struct Timestamp: Hashable, Comparable, Sendable {
    package var milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// - Parameter seconds: seconds since 1970; saturates at the range of `Int64` milliseconds.
    package init(seconds: Int64) {
        let (value, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        self.milliseconds = overflow ? (seconds < 0 ? .min : .max) : value
    }

    /// Whole seconds since 1970, rounded down.
    package var seconds: Int64 { milliseconds >= 0 ? milliseconds / 1000 : (milliseconds - 999) / 1000 }

    package static func < (left: Timestamp, right: Timestamp) -> Bool { left.milliseconds < right.milliseconds }

    /// The time `seconds` later; saturates.
    package func adding(seconds: Int64) -> Timestamp {
        adding(milliseconds: Timestamp(seconds: seconds).milliseconds)
    }

    /// The time `milliseconds` later; saturates.
    package func adding(milliseconds other: Int64) -> Timestamp {
        let (value, overflow) = milliseconds.addingReportingOverflow(other)
        return Timestamp(milliseconds: overflow ? (other < 0 ? .min : .max) : value)
    }

    /// RFC 3339 in UTC with milliseconds: `2026-01-02T03:04:05.678Z`. Clamped to the years 0000 to 9999.
    package var rfc3339: String {
        let time = CivilTime(self)
        var text: [UInt8] = []
        text.reserveCapacity(24)
        text.appendDecimal(Int(time.year), width: 4, "-")
        text.appendDecimal(time.month, width: 2, "-")
        text.appendDecimal(time.day, width: 2, "T")
        text.appendDecimal(time.hour, width: 2, ":")
        text.appendDecimal(time.minute, width: 2, ":")
        text.appendDecimal(time.second, width: 2, ".")
        text.appendDecimal(time.millisecond, width: 3, "Z")
        return String(decoding: text, as: UTF8.self)
    }

    /// RFC 3339 §5.6 with any offset; digits beyond milliseconds are dropped. Refuses leap seconds (`:60`), and times
    /// that the offset moves outside the years 0000 to 9999 of UTC, which cannot be written.
    package init?(rfc3339 text: String) {
        var scanner = TextScanner(text)
        guard let year = scanner.digits(4), scanner.consume("-"), let month = scanner.digits(2), scanner.consume("-"),
            let day = scanner.digits(2), scanner.consume("T") || scanner.consume("t"), let hour = scanner.digits(2),
            scanner.consume(":"), let minute = scanner.digits(2), scanner.consume(":"), let second = scanner.digits(2)
        else { return nil }
        guard let millisecond = Self.fraction(&scanner), let offset = Self.offsetSeconds(&scanner), scanner.isAtEnd,
            let time = CivilTime(
                year: year, month: month, day: day, hour: hour, minute: minute, second: second,
                millisecond: millisecond)
        else { return nil }
        let moment = time.timestamp.adding(seconds: -offset)
        guard (CivilTime.earliest...CivilTime.latest).contains(moment) else { return nil }
        self = moment
    }

    /// Milliseconds of an optional fraction; nil for a dot without digits.
    private static func fraction(_ scanner: inout TextScanner) -> Int? {
        guard scanner.consume(".") else { return 0 }
        guard let first = scanner.digits(1) else { return nil }
        var millisecond = first * 100
        var weight = 10
        while let digit = scanner.digits(1) {
            millisecond += digit * weight
            weight /= 10
        }
        return millisecond
    }

    private static func offsetSeconds(_ scanner: inout TextScanner) -> Int64? {
        if scanner.consume("Z") || scanner.consume("z") { return 0 }
        let sign: Int64
        if scanner.consume("+") { sign = 1 } else if scanner.consume("-") { sign = -1 } else { return nil }
        guard let hours = scanner.digits(2), hours <= 23, scanner.consume(":"), let minutes = scanner.digits(2),
            minutes <= 59
        else { return nil }
        return sign * Int64(hours * 3600 + minutes * 60)
    }
}

/// The wall clock, injected wherever a time is compared or stored.
package protocol WallClock: Sendable {
    func now() -> Timestamp
}
