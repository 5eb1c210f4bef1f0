internal import Sockets
import Synchronization

/// The progress of a command that takes more than a second: a line on a terminal's standard error, removed at its end.
struct ProgressLine {
    private static let patience = Duration.seconds(1)
    private static let interval = Duration.milliseconds(100)

    private let isShown = StandardStream.error.isTerminal
    private let text: @Sendable (_ count: Int, _ done: Int, _ elapsed: Duration, _ columns: Int) -> String
    private let startedAt = ContinuousClock.now
    private var drawnAt: ContinuousClock.Instant?

    /// - Parameter total: bytes of the input, or the number of items; nil when unknown.
    init(total: Int?, unit: String = "lines") {
        text = { Self.text(count: $0, done: $1, total: total, unit: unit, elapsed: $2, columns: $3) }
    }

    init(_ words: String) { text = { Self.text(words, elapsed: $2, columns: $3) } }

    /// - Parameter done: how much of the total that is.
    mutating func update(count: Int = 0, done: Int = 0) {
        let now = ContinuousClock.now
        guard isShown, now - startedAt >= Self.patience, drawnAt.map({ now - $0 >= Self.interval }) ?? true else {
            return
        }
        drawnAt = now
        let line = text(count, done, now - startedAt, StandardStream.error.columns ?? 80)
        StandardError().write(Array("\r\(line)\u{1B}[K".utf8))
    }

    /// Removes the line, so that something else can be written in its place.
    mutating func clear() {
        guard isShown, drawnAt != nil else { return }
        drawnAt = nil
        StandardError().write(Array("\r\u{1B}[K".utf8))
    }

    /// Shows `words` and the elapsed time until `body` has ended: for work without known progress.
    static func during<Value: Sendable>(_ words: String, _ body: () async throws -> Value) async throws -> Value {
        // Ended and awaited when this returns, before anything else is written.
        async let _: Void = show(words)
        return try await body()
    }

    /// The same, and the count once there is one.
    static func during<Value: Sendable>(
        _ words: String, total: Int, unit: String, _ body: (Progress) async throws -> Value
    ) async throws -> Value {
        let progress = Progress()
        async let _: Void = show(words, ProgressLine(total: total, unit: unit), progress)
        return try await body(progress)
    }

    final class Progress: Sendable {
        private let done = Atomic(0)
        var count: Int { done.load(ordering: .relaxed) }
        func add(_ more: Int) { done.add(more, ordering: .relaxed) }
    }

    private static func show(_ words: String, _ counted: ProgressLine? = nil, _ progress: Progress = Progress()) async {
        guard StandardStream.error.isTerminal else { return }
        var (line, counted) = (ProgressLine(words), counted)
        while (try? await Task.sleep(for: interval)) != nil {
            let count = progress.count
            if count == 0 || counted == nil { line.update() } else { counted?.update(count: count, done: count) }
        }
        line.clear()
        counted?.clear()
    }

    /// `[#####     ]  50 %  1000 lines  500/s  0:02 left`, at most `columns - 1` wide.
    static func text(
        count: Int, done: Int, total: Int?, unit: String = "lines", elapsed: Duration, columns: Int
    ) -> String {
        let milliseconds = max(1, Int(elapsed / .milliseconds(1)))
        var words = "\(count) \(unit)  \(count * 1000 / milliseconds)/s"
        guard let total, total > 0 else { return String(words.prefix(columns - 1)) }
        let done = min(done, total)
        if done > 0, milliseconds > 1000 {
            words += "  \(Self.clock(milliseconds / 1000 * (total - done) / done)) left"
        }
        let percent = done * 100 / total
        let padding = String(repeating: " ", count: percent < 10 ? 2 : percent < 100 ? 1 : 0)
        words = "\(padding)\(percent) %  \(words)"
        let width = min(40, columns - words.count - 4)
        guard width >= 5 else { return String(words.prefix(columns - 1)) }
        let filled = width * done / total
        return "[\(String(repeating: "#", count: filled))\(String(repeating: " ", count: width - filled))] \(words)"
    }

    /// `verifying the copy  0:02`, at most `columns - 1` wide.
    static func text(_ words: String, elapsed: Duration, columns: Int) -> String {
        String("\(words)  \(clock(Int(elapsed / .seconds(1))))".prefix(columns - 1))
    }

    private static func clock(_ seconds: Int) -> String {
        "\(seconds / 60):\(seconds % 60 < 10 ? "0" : "")\(seconds % 60)"
    }
}
