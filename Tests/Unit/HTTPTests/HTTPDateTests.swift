import HTTP
import Testing

@Suite struct HTTPDateTests {
    private let now: Int64 = 1_785_000_000

    @Test(
        arguments: [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (-1, "Wed, 31 Dec 1969 23:59:59 GMT"), (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"), (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
            (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] as [(Int64, String)])
    func dates_areWrittenAndReadAgain(_ seconds: Int64, _ text: String) {
        #expect(HTTPDate.format(seconds) == text)
        #expect(HTTPDate.parse(text, now: now) == seconds)
    }

    @Test func momentsBeyondTheFormat_areClampedAndNotRead() {
        #expect(HTTPDate.format(.max) == "Fri, 31 Dec 9999 23:59:59 GMT")
        #expect(HTTPDate.format(.min) == "Sat, 01 Jan 0000 00:00:00 GMT")
        // What it counts as is in the year 10000, and was written as a second before.
        #expect(HTTPDate.parse("Fri, 31 Dec 9999 23:59:59 GMT", now: now) == 253_402_300_799)
        #expect(HTTPDate.parse("Fri, 31 Dec 9999 23:59:60 GMT", now: now) == nil)
    }

    @Test func everyDay_isReadAgain() {
        for day in stride(from: Int64(-30_000), to: 60_000, by: 1) {
            #expect(HTTPDate.parse(HTTPDate.format(day * 86_400 + 3661), now: now) == day * 86_400 + 3661)
        }
    }

    @Test(
        arguments: [
            ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777), ("Sun Nov  6 08:49:37 1994", 784_111_777),
            ("Sun Nov 16 08:49:37 1994", 784_975_777), ("Friday, 01-Jan-27 00:00:00 GMT", 1_798_761_600),
            ("Thursday, 01-Jan-76 00:00:00 GMT", 3_345_062_400), ("Saturday, 01-Jan-77 00:00:00 GMT", 220_924_800),
            ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
        ] as [(String, Int64)])
    func obsoleteForms_areRead(_ text: String, _ seconds: Int64) {
        #expect(HTTPDate.parse(text, now: now) == seconds, "\(text)")
    }

    @Test(arguments: [
        "", "0", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT", "06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 29 Feb 2100 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Xyz, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49 GMT", "Sun,  06 Nov 1994 08:49:37 GMT", "Sun, +6 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-1994 08:49:37 GMT", "Sun Nov  6 08:49:37 1994 GMT", "1994-11-06T08:49:37Z",
        "Sun, 06 Nov 1994 08:49:37 GMT Sun, 06 Nov 1994 08:49:37 GMT",
    ])
    func otherText_isNotADate(_ text: String) {
        #expect(HTTPDate.parse(text, now: now) == nil, "\(text)")
    }
}
