package import Coding

/// Dates in HTTP's forms (RFC 9110 §5.6.7), in whole seconds since 1970-01-01T00:00:00Z.
package enum HTTPDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let longDays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// IMF-fixdate, `Sun, 06 Nov 1994 08:49:37 GMT`. Times outside the years 0...9999 become the nearest end.
    package static func format(_ seconds: Int64) -> String {
        let moment = CivilTime(Timestamp(seconds: seconds))
        let date = "\(padded(moment.day)) \(months[moment.month - 1]) \(padded(Int(moment.year), 4))"
        let time = "\(padded(moment.hour)):\(padded(moment.minute)):\(padded(moment.second))"
        return "\(days[moment.weekday]), \(date) \(time) GMT"
    }

    /// Parses any of the three forms that a recipient must accept. The weekday may be a wrong one.
    /// - Parameter now: decides the century of the two-digit years of RFC 850 (at most 50 years ahead).
    /// - Returns: nil for anything else, and for a date or time that does not exist.
    package static func parse(_ text: String, now: Int64) -> Int64? {
        guard text.utf8.count <= 40 else { return nil }
        let parts = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        switch parts.count {
        case 6 where parts[0].hasSuffix(",") && days.contains(String(parts[0].dropLast())) && parts[5] == "GMT":
            return seconds(day: parts[1], month: parts[2], year: parts[3], time: parts[4])
        case 4 where parts[0].hasSuffix(",") && longDays.contains(String(parts[0].dropLast())) && parts[3] == "GMT":
            let date = parts[1].split(separator: "-", omittingEmptySubsequences: false).map(String.init)
            guard date.count == 3, let short = number(date[2], digits: 2) else { return nil }
            let year = fullYear(short, now: now)
            return seconds(day: date[0], month: date[1], year: padded(year, 4), time: parts[2])
        case 5 where days.contains(parts[0]):
            return seconds(day: parts[2], month: parts[1], year: parts[4], time: parts[3])
        // asctime pads the day with a space: `Sun Nov  6 08:49:37 1994`.
        case 6 where days.contains(parts[0]) && parts[2].isEmpty && parts[3].utf8.count == 1:
            return seconds(day: "0" + parts[3], month: parts[1], year: parts[5], time: parts[4])
        default: return nil
        }
    }

    private static func seconds(day: String, month: String, year: String, time: String) -> Int64? {
        let clock = time.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard let day = number(day, digits: 2), let month = months.firstIndex(of: month),
            let year = number(year, digits: 4), clock.count == 3,
            let hour = number(clock[0], digits: 2), let minute = number(clock[1], digits: 2),
            let second = number(clock[2], digits: 2)
        else { return nil }
        // 60 is a leap second; it counts as the first second of the next minute, as in POSIX time.
        let isLeapSecond = second == 60
        let civil = CivilTime(
            year: year, month: month + 1, day: day, hour: hour, minute: minute, second: isLeapSecond ? 59 : second)
        guard let moment = civil?.timestamp.adding(seconds: isLeapSecond ? 1 : 0) else { return nil }
        // After a leap second at its very end comes the year 10000, which has no text.
        return moment <= CivilTime.latest ? moment.seconds : nil
    }

    private static func number(_ text: String, digits: Int) -> Int? {
        guard text.utf8.count == digits, text.utf8.allSatisfy({ $0 >= ASCII.zero && $0 <= ASCII.nine }) else {
            return nil
        }
        return Int(text)
    }

    private static func fullYear(_ short: Int, now: Int64) -> Int {
        let current = Int(CivilTime(Timestamp(seconds: now)).year)
        let candidate = current - current % 100 + short
        return candidate > current + 50 ? candidate - 100 : candidate
    }

    private static func padded(_ number: Int, _ width: Int = 2) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
    }
}

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
