private let dayNames = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
private let longDayNames = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
private let monthNames = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

extension Timestamp {
    /// IMF-fixdate (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`. Milliseconds are dropped.
    package var httpDate: String {
        let time = CivilTime(self)
        var text: [UInt8] = []
        text.reserveCapacity(29)
        text.append(contentsOf: dayNames[time.weekday].utf8)
        text.append(contentsOf: ", ".utf8)
        text.appendDecimal(time.day, width: 2)
        text.append(UInt8(ascii: " "))
        text.append(contentsOf: monthNames[time.month - 1].utf8)
        text.append(UInt8(ascii: " "))
        text.appendDecimal(Int(time.year), width: 4)
        text.append(UInt8(ascii: " "))
        text.appendDecimal(time.hour, width: 2)
        text.append(UInt8(ascii: ":"))
        text.appendDecimal(time.minute, width: 2)
        text.append(UInt8(ascii: ":"))
        text.appendDecimal(time.second, width: 2)
        text.append(contentsOf: " GMT".utf8)
        return String(decoding: text, as: UTF8.self)
    }

    /// Any of the three forms a recipient must read (RFC 9110 §5.6.7): IMF-fixdate, RFC 850's and asctime's.
    ///
    /// The name of the day is not compared with the date. Two-digit years from 70 on are the twentieth century's. A
    /// leap second reads as the second before it.
    package init?(httpDate text: String) {
        guard let time = Self.fixdate(text) ?? Self.rfc850(text) ?? Self.asctime(text) else { return nil }
        self = time.timestamp
    }

    private static func fixdate(_ text: String) -> CivilTime? {
        var scanner = TextScanner(text)
        guard scanner.index(in: dayNames) != nil, scanner.take(", "), let day = scanner.digits(2), scanner.take(" "),
            let month = scanner.index(in: monthNames), scanner.take(" "), let year = scanner.digits(4),
            scanner.take(" "), let clock = clock(&scanner), scanner.take(" GMT"), scanner.isAtEnd
        else { return nil }
        return civil(year, month, day, clock)
    }

    /// `Sunday, 06-Nov-94 08:49:37 GMT`
    private static func rfc850(_ text: String) -> CivilTime? {
        var scanner = TextScanner(text)
        guard scanner.index(in: longDayNames) != nil, scanner.take(", "), let day = scanner.digits(2),
            scanner.take("-"), let month = scanner.index(in: monthNames), scanner.take("-"),
            let year = scanner.digits(2), scanner.take(" "), let clock = clock(&scanner), scanner.take(" GMT"),
            scanner.isAtEnd
        else { return nil }
        return civil(year < 70 ? 2000 + year : 1900 + year, month, day, clock)
    }

    /// `Sun Nov  6 08:49:37 1994`
    private static func asctime(_ text: String) -> CivilTime? {
        var scanner = TextScanner(text)
        guard scanner.index(in: dayNames) != nil, scanner.take(" "), let month = scanner.index(in: monthNames),
            scanner.take(" "), let day = scanner.take(" ") ? scanner.digits(1) : scanner.digits(2),
            scanner.take(" "), let clock = clock(&scanner), scanner.take(" "), let year = scanner.digits(4),
            scanner.isAtEnd
        else { return nil }
        return civil(year, month, day, clock)
    }

    private static func clock(_ scanner: inout TextScanner) -> (hour: Int, minute: Int, second: Int)? {
        guard let hour = scanner.digits(2), scanner.take(":"), let minute = scanner.digits(2), scanner.take(":"),
            let second = scanner.digits(2)
        else { return nil }
        return (hour, minute, second)
    }

    /// - Parameter month: 0 to 11.
    private static func civil(
        _ year: Int, _ month: Int, _ day: Int, _ clock: (hour: Int, minute: Int, second: Int)
    ) -> CivilTime? {
        CivilTime(
            year: year, month: month + 1, day: day, hour: clock.hour, minute: clock.minute,
            second: clock.second == 60 ? 59 : clock.second)
    }
}
