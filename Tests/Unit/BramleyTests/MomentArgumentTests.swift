import Bramley
import Coding
import Testing

/// What `--since` and `--until` take.
@Suite struct MomentArgumentTests {
    private static let now = Timestamp(seconds: 1_800_000_000)

    @Test(arguments: [
        ("2026-01-02", "2026-01-02T00:00:00.000Z"), ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z"),
        ("2026-01-02T03:04:05.999Z", "2026-01-02T03:04:05.000Z"), ("2024-02-29", "2024-02-29T00:00:00.000Z"),
        ("2000-02-29", "2000-02-29T00:00:00.000Z"), ("1970-01-01", "1970-01-01T00:00:00.000Z"),
        ("2026-12-31T23:59:59Z", "2026-12-31T23:59:59.000Z"), ("2026-03-01", "2026-03-01T00:00:00.000Z"),
        ("0m", "2027-01-15T08:00:00.000Z"), ("5m", "2027-01-15T07:55:00.000Z"), ("2h", "2027-01-15T06:00:00.000Z"),
        ("1d", "2027-01-14T08:00:00.000Z"), ("today", "2027-01-15T00:00:00.000Z"),
        ("yesterday", "2027-01-14T00:00:00.000Z"),
    ])
    func reads(argument: String, moment: String) throws {
        #expect(try #require(MomentArgument(argument: argument)).moment(at: Self.now).rfc3339 == moment)
    }

    @Test(arguments: [
        "", "d", "-1d", "1w", "1 d", "1000000d", "tomorrow", "Yesterday ", "2026-1-2", "2026-02-30", "2025-02-29",
        "2100-02-29",
        "2026-13-01", "2026-00-10", "2026-01-00", "2026-01-32", "2026-01-02T24:00:00Z", "2026-01-02T03:60:00Z",
        "2026-01-02T03:04:60Z", "2026-01-02T03:04:05", "2026-01-02T03:04:05+01:00", "2026-01-02 03:04:05Z",
        "2026-01-02T03:04Z", "20260102", " 2026-01-02", "2026-01-02\n", "२०२६-01-02",
    ])
    func refuses(argument: String) {
        #expect(MomentArgument(argument: argument) == nil)
    }
}
