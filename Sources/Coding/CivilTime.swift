/// A moment as a calendar in UTC shows it: the proleptic Gregorian calendar without leap seconds.
package struct CivilTime: Sendable {
    package var year: Int64
    /// 1 to 12.
    package var month: Int
    /// 1 to 31.
    package var day: Int
    package var hour = 0
    package var minute = 0
    package var second = 0
    var millisecond = 0

    /// The first and the last moment of a year of four digits.
    static let earliest = Timestamp(milliseconds: -62_167_219_200_000)
    package static let latest = Timestamp(milliseconds: 253_402_300_799_999)

    private static let dayMilliseconds: Int64 = 86_400_000

    /// - Parameter timestamp: moved into the years 0000 to 9999 when outside.
    package init(_ timestamp: Timestamp) {
        let moment = min(max(timestamp, Self.earliest), Self.latest).milliseconds
        var days = moment / Self.dayMilliseconds
        var rest = Int(moment % Self.dayMilliseconds)
        if rest < 0 {
            rest += Int(Self.dayMilliseconds)
            days -= 1
        }
        // Years here start in March, so that the leap day is the last; eras of 400 years have 146,097 days.
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = Int(dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
        month = Int(shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9)
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        millisecond = rest % 1000
        second = rest / 1000 % 60
        minute = rest / 60_000 % 60
        hour = rest / 3_600_000
    }

    /// - Returns: nil unless the day exists and the time is within 00:00:00.000 and 23:59:59.999.
    package init?(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int, millisecond: Int = 0) {
        guard (0...9999).contains(year), (1...12).contains(month), (1...Self.days(in: month, of: year)).contains(day),
            (0...23).contains(hour), (0...59).contains(minute), (0...59).contains(second),
            (0...999).contains(millisecond)
        else { return nil }
        self.year = Int64(year)
        self.month = month
        self.day = day
        self.hour = hour
        self.minute = minute
        self.second = second
        self.millisecond = millisecond
    }

    package var timestamp: Timestamp {
        let seconds = daysSince1970 * 86_400 + Int64(hour * 3600 + minute * 60 + second)
        return Timestamp(milliseconds: seconds * 1000 + Int64(millisecond))
    }

    /// 0 is Sunday.
    package var weekday: Int {
        // 1970-01-01 was a Thursday.
        let value = Int((daysSince1970 + 4) % 7)
        return value < 0 ? value + 7 : value
    }

    private var daysSince1970: Int64 {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = Int64((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1)
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    private static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 2: year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension [UInt8] {
    /// The number, which is not negative, in decimal with at least `width` digits, and a character after it.
    mutating func appendDecimal(_ value: Int, width: Int, _ end: Unicode.Scalar) {
        let digits = String(value)
        for _ in 0..<Swift.max(0, width - digits.utf8.count) { append(UInt8(ascii: "0")) }
        append(contentsOf: digits.utf8)
        append(UInt8(ascii: end))
    }
}

/// Scans a text of fixed format, such as a date.
struct TextScanner {
    private var rest: ArraySlice<UInt8>

    init(_ text: String) { rest = Array(text.utf8)[...] }

    var isAtEnd: Bool { rest.isEmpty }

    /// Exactly `count` decimal digits.
    mutating func digits(_ count: Int) -> Int? {
        let text = rest.prefix(count)
        guard text.count == count, text.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        rest = rest.dropFirst(count)
        return text.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    /// Skips `expected`; false when the text continues differently.
    mutating func consume(_ expected: String) -> Bool {
        guard rest.starts(with: expected.utf8) else { return false }
        rest = rest.dropFirst(expected.utf8.count)
        return true
    }
}
