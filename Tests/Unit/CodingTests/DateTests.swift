import Coding
import Foundation
import Testing

@Suite struct RFC3339Tests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (1_767_323_045_678, "2026-01-02T03:04:05.678Z"),
            (-1, "1969-12-31T23:59:59.999Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"), (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] as [(Int64, String)])
    func text_goesBothWays(_ milliseconds: Int64, _ text: String) {
        #expect(Timestamp(milliseconds: milliseconds).rfc3339 == text)
        #expect(Timestamp(rfc3339: text)?.milliseconds == milliseconds)
    }

    @Test func momentsOutsideFourDigitYears_showTheNearestInside() {
        #expect(Timestamp(milliseconds: .max).rfc3339 == "9999-12-31T23:59:59.999Z")
        #expect(Timestamp(milliseconds: .min).rfc3339 == "0000-01-01T00:00:00.000Z")
    }

    @Test(
        arguments: [
            ("2026-01-02T03:04:05Z", 1_767_323_045_000), ("2026-01-02t03:04:05.6z", 1_767_323_045_600),
            ("2026-01-02T03:04:05.6789999Z", 1_767_323_045_678), ("2026-01-02T05:34:05+02:30", 1_767_323_045_000),
            ("2026-01-01T23:04:05-04:00", 1_767_323_045_000), ("2026-01-02T03:04:05-00:00", 1_767_323_045_000),
        ] as [(String, Int64)])
    func otherForms_areRead(_ text: String, _ milliseconds: Int64) {
        #expect(Timestamp(rfc3339: text)?.milliseconds == milliseconds)
    }

    @Test(arguments: [
        "", "2026-01-02", "2026-01-02T03:04:05", "2026-01-02 03:04:05Z", "2026-1-02T03:04:05Z", "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z", "2026-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2026-04-31T00:00:00Z",
        "2026-01-00T00:00:00Z", "2026-01-02T24:00:00Z", "2026-01-02T03:60:05Z", "2026-01-02T03:04:60Z",
        "2026-01-02T03:04:05.Z", "2026-01-02T03:04:05+0200", "2026-01-02T03:04:05+24:00", "2026-01-02T03:04:05+02:60",
        "2026-01-02T03:04:05ZZ", "-026-01-02T03:04:05Z", "２026-01-02T03:04:05Z", "+2026-01-02T03:04:05Z",
    ])
    func otherTexts_areRefused(_ text: String) {
        #expect(Timestamp(rfc3339: text) == nil)
    }

    @Test(
        "An offset must not move a time outside the representable years",
        arguments: [
            ("0000-01-01T00:00:00+00:01", nil), ("0000-01-01T23:59:00+23:59", "0000-01-01T00:00:00.000Z"),
            ("9999-12-31T23:59:59-00:01", nil), ("9999-12-31T00:00:59.999-23:59", "9999-12-31T23:59:59.999Z"),
        ] as [(String, String?)])
    func offsetsAtBothEnds(_ text: String, _ written: String?) {
        #expect(Timestamp(rfc3339: text)?.rfc3339 == written)
    }

    @Test func everyDayOf800Years_agreesWithFoundation() throws {
        var calendar = Calendar(identifier: .iso8601)
        calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
        // Every 37 days from 1600 on, and always some odd time of the day.
        for day in stride(from: -135_140 as Int64, to: 157_000, by: 37) {
            let timestamp = Timestamp(milliseconds: day * 86_400_000 + 45_296_789)
            let parts = calendar.dateComponents(
                [.year, .month, .day, .hour, .minute, .second],
                from: Date(timeIntervalSince1970: Double(timestamp.seconds)))
            let expected = String(
                format: "%04d-%02d-%02dT%02d:%02d:%02d.789Z", parts.year ?? -1, parts.month ?? -1, parts.day ?? -1,
                parts.hour ?? -1, parts.minute ?? -1, parts.second ?? -1)
            #expect(timestamp.rfc3339 == expected)
            #expect(Timestamp(rfc3339: expected) == timestamp)
        }
    }
}
