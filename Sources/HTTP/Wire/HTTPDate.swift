/// Dates as HTTP writes them (RFC 9110 §5.6.7), in whole seconds since 1970-01-01T00:00:00Z.
package enum HTTPDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let longDays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// The last second of the year 9999: four digits are all the format has.
    private static let maximum: Int64 = 253_402_300_799

    /// IMF-fixdate, `Sun, 06 Nov 1994 08:49:37 GMT`. Moments outside the years 0...9999 become the nearest end.
    package static func format(_ seconds: Int64) -> String {
        let clamped = min(max(seconds, -62_167_219_200), maximum)
        let day = Int((clamped >= 0 ? clamped : clamped - 86_399) / 86_400)
        let rest = Int(clamped) - day * 86_400
        let (year, month, dayOfMonth) = civil(fromDays: day)
        let weekday = ((day + 4) % 7 + 7) % 7
        let time = "\(padded(rest / 3600)):\(padded(rest / 60 % 60)):\(padded(rest % 60))"
        return "\(days[weekday]), \(padded(dayOfMonth)) \(months[month - 1]) \(padded(year, 4)) \(time) GMT"
    }

    /// Reads any of the three forms a recipient must accept. The weekday must be one, but need not be the right one.
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
        default:
            return nil
        }
    }

    private static func seconds(day: String, month: String, year: String, time: String) -> Int64? {
        let clock = time.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard let day = number(day, digits: 2), let month = months.firstIndex(of: month),
            let year = number(year, digits: 4), clock.count == 3,
            let hour = number(clock[0], digits: 2), let minute = number(clock[1], digits: 2),
            let second = number(clock[2], digits: 2)
        else { return nil }
        // 60 is a leap second; it counts as the first of the next minute, as POSIX time has it.
        guard hour < 24, minute < 60, second <= 60 else { return nil }
        let days = days(year: year, month: month + 1, day: day)
        guard day >= 1, civil(fromDays: days) == (year, month + 1, day) else { return nil }
        let seconds = Int64(days) * 86_400 + Int64(hour * 3600 + minute * 60 + second)
        // Behind a leap second at its very end is the year 10000, which has no text.
        return seconds <= maximum ? seconds : nil
    }

    private static func number(_ text: String, digits: Int) -> Int? {
        guard text.utf8.count == digits, text.utf8.allSatisfy({ $0 >= ASCII.zero && $0 <= ASCII.nine }) else {
            return nil
        }
        return Int(text)
    }

    private static func fullYear(_ short: Int, now: Int64) -> Int {
        let current = civil(fromDays: Int(now / 86_400)).year
        let candidate = current - current % 100 + short
        return candidate > current + 50 ? candidate - 100 : candidate
    }

    private static func padded(_ number: Int, _ width: Int = 2) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
    }

    /// Days since 1970-01-01 of a date of the proleptic Gregorian calendar: years are counted from March, so that the
    /// leap day comes last, in eras of 400 years.
    private static func days(year: Int, month: Int, day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civil(fromDays days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }
}
