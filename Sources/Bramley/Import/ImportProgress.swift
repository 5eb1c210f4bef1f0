internal import Sockets

/// The bar of a long command, on a terminal alone.
struct ImportProgress {
    /// Milliseconds between two looks of it.
    private static let interval = Duration.milliseconds(100)

    private let isShown: Bool
    private let total: Int?
    private let unit: String
    private let startedAt = ContinuousClock.now
    private var drawnAt: ContinuousClock.Instant?

    /// - Parameters:
    ///   - total: bytes of the input, or of whatever is counted; nil when it is not known.
    ///   - unit: what is counted in words.
    init(total: Int?, unit: String = "lines") {
        isShown = StandardStream.error.isTerminal
        self.total = total
        self.unit = unit
    }

    mutating func update(lines: Int, bytes: Int) {
        let now = ContinuousClock.now
        guard isShown, drawnAt.map({ now - $0 >= Self.interval }) ?? true else { return }
        drawnAt = now
        let text = Self.text(
            lines: lines, bytes: bytes, total: total, unit: unit, elapsed: now - startedAt,
            columns: StandardStream.error.columns ?? 80)
        StandardError().write(Array("\r\(text)\u{1B}[K".utf8))
    }

    /// Takes the bar away, so that something else can be written in its line.
    mutating func clear() {
        guard isShown, drawnAt != nil else { return }
        drawnAt = nil
        StandardError().write(Array("\r\u{1B}[K".utf8))
    }

    /// `[#####     ]  50 %  1000 lines  500/s  0:02 left`, at most `columns - 1` wide.
    static func text(
        lines: Int, bytes: Int, total: Int?, unit: String = "lines", elapsed: Duration, columns: Int
    ) -> String {
        let milliseconds = max(1, Int(elapsed / .milliseconds(1)))
        var words = "\(lines) \(unit)  \(lines * 1000 / milliseconds)/s"
        guard let total, total > 0 else { return String(words.prefix(columns - 1)) }
        let done = min(bytes, total)
        if done > 0, milliseconds > 1000 {
            let left = milliseconds / 1000 * (total - done) / done
            words += "  \(left / 60):\(left % 60 < 10 ? "0" : "")\(left % 60) left"
        }
        let percent = done * 100 / total
        let padding = String(repeating: " ", count: percent < 10 ? 2 : percent < 100 ? 1 : 0)
        words = "\(padding)\(percent) %  \(words)"
        let width = min(40, columns - words.count - 4)
        guard width >= 5 else { return String(words.prefix(columns - 1)) }
        let filled = width * done / total
        return "[\(String(repeating: "#", count: filled))\(String(repeating: " ", count: width - filled))] \(words)"
    }
}
