import Coding
import HTTP

extension FuzzTarget {
    /// Dates of HTTP and of JSON: what is read is written as one text, and that is read as the same moment.
    static let date = FuzzTarget(name: "date", maximumLength: 64) { input throws(Finding) in
        let text = String(decoding: input, as: UTF8.self)
        if let moment = Timestamp(rfc3339: text) {
            try hold(Timestamp(rfc3339: moment.rfc3339) == moment, "\(text) is \(moment.rfc3339)")
        }
        guard let seconds = HTTPDate.parse(text, now: 1_800_000_000) else { return nil }
        let written = HTTPDate.format(seconds)
        try hold(written.utf8.count == 29, "\(text) is \(written)")
        try hold(HTTPDate.parse(written, now: 0) == seconds, "\(text) is \(written)")
        try hold(Timestamp(seconds: seconds).seconds == seconds, "\(seconds) does not fit")
        // Day, hour, minute and second in four bytes that may be anything, each as one of three: no more, since hardly
        // any change of a date leaves a date. No seed has two of those that the planted bug asks for.
        let parts = [seconds / 86_400 % 3, seconds / 3600 % 24 % 3, seconds / 60 % 60 % 3, seconds % 60 % 3]
        return zip(parts, [96, 116, 102, 53]).map { UInt8(truncatingIfNeeded: $0 + $1) }
    }
}
