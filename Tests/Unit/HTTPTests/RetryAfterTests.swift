import Coding
import HTTP
import Testing

struct RetryAfterTests {
    /// 15 January 2027, 08:00:00 UTC.
    private static let now = Timestamp(milliseconds: 1_800_000_000_500)

    @Test(
        arguments: [
            (nil, nil), ("", nil), ("0", 0), ("120", 120_000), ("-1", nil), ("+5", nil), ("1.5", nil), ("soon", nil),
            ("99999999999999999999", 1_000_000_000_000), ("Fri, 15 Jan 2027 08:01:00 GMT", 59_500),
            ("Fri, 15 Jan 2027 07:00:00 GMT", 0), ("١٢", nil), (" 5", nil),
        ] as [(String?, Int64?)])
    func reads(field: String?, milliseconds: Int64?) {
        #expect(RetryAfter.milliseconds(field, at: Self.now) == milliseconds)
    }
}
