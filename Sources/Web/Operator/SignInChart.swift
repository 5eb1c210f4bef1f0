import Accounts
import Coding

/// The sign-ins of the last 24 hours as a picture: one bar an hour, in three colours.
struct SignInChart: Sendable {
    /// How a sign-in is counted.
    enum Band: String, Sendable, CaseIterable {
        case signedIn, refused, failed

        /// - Returns: nil for intermediate steps, which another outcome follows.
        init?(outcome: String) {
            switch outcome {
            case "signed_in", "already_signed_in", "link_authorized": self = .signedIn
            case "refused": self = .refused
            case "failed", "link_failed": self = .failed
            default: return nil
            }
        }
    }

    private static let hours = 24
    private static let (width, height, gap) = (30, 120, 6)

    /// Oldest first; each has every band.
    private let columns: [(hour: Timestamp, numbers: [Band: Int])]

    /// Without cancelled sign-ins.
    init(_ counts: [SignInCount], at now: Timestamp) {
        let first = Self.start(at: now)
        var numbers: [Timestamp: [Band: Int]] = [:]
        for count in counts where count.hour >= first && !count.isCancelled {
            if let band = Band(outcome: count.outcome) {
                numbers[count.hour, default: [:]][band, default: 0] += count.number
            }
        }
        columns = (0..<Self.hours).map { index in
            let hour = first.adding(seconds: Int64(index) * 3_600)
            return (hour, numbers[hour] ?? [:])
        }
    }

    /// When the oldest of its hours began.
    static func start(at now: Timestamp) -> Timestamp { now.hour.adding(seconds: -Int64(hours - 1) * 3_600) }

    func total(_ band: Band) -> Int { columns.reduce(0) { $0 + ($1.numbers[band] ?? 0) } }

    /// The end of the scale: a round number whose half is a whole one.
    var scale: Int {
        let highest = columns.map { $0.numbers.values.reduce(0, +) }.max() ?? 0
        var unit = 1
        while 10 * unit < highest { unit *= 10 }
        return [2, 4, 6, 8, 10].map { $0 * unit }.first { $0 >= highest } ?? highest
    }

    /// The picture, its scale and hours, and its legend, which has the sums; `label` describes it for those who do not
    /// see it. The hours are of UTC until a script makes them the reader's.
    func markup(label: String, texts: OperatorTexts) -> PageValue {
        let hours = stride(from: 0, to: Self.hours, by: 6).map {
            let hour = columns[$0].hour
            return "<time datetime=\"\(hour.rfc3339)\" dir=\"auto\" data-format=\"hour\">\(Self.text(hour))</time>"
        }
        let legend = Band.allCases.map { band in
            "<li><span class=\"swatch \(band.rawValue)\"></span>"
                + HTMLText.escape("\(texts["bands.\(band)"]): \(total(band))") + "</li>"
        }
        let numbers = [scale, scale / 2, 0].map { "<span>\($0)</span>" }
        return .html(
            "<div class=\"plot\"><p class=\"scale\" aria-hidden=\"true\">\(numbers.joined())</p>"
                + svg(label: label, texts: texts)
                + "<p class=\"hours\" aria-hidden=\"true\">\(hours.joined())</p></div>"
                + "<ul class=\"legend\">\(legend.joined())</ul>")
    }

    private func svg(label: String, texts: OperatorTexts) -> String {
        let total = Self.hours * (Self.width + Self.gap)
        var text = "<svg class=\"chart\" role=\"img\" preserveAspectRatio=\"none\" "
        text += "viewBox=\"0 0 \(total) \(Self.height)\" aria-label=\"\(HTMLText.escape(label))\">"
        for y in [0, Self.height / 2, Self.height - 1] { text += Self.rect("line", 0, y, width: total, height: 1) }
        for (index, column) in columns.enumerated() {
            let x = index * (Self.width + Self.gap)
            let hour = Self.text(column.hour)
            let said = Band.allCases.map { "\(texts["bands.\($0)"]): \(column.numbers[$0] ?? 0)" }
            text += "<g><title data-hour=\"\(hour)\" data-moment=\"\(column.hour.rfc3339)\">"
            text += HTMLText.escape("\(hour): " + said.joined(separator: ", ")) + "</title>"
            text += Self.rect("ground", x, 0, height: Self.height)
            var top = Self.height
            for band in Band.allCases {
                let number = column.numbers[band] ?? 0
                guard number > 0 else { continue }
                // At least two units, so that one among thousands is seen.
                let tall = min(top, max(2, number * Self.height / scale))
                top -= tall
                text += Self.rect(band.rawValue, x, top, height: tall)
            }
            text += "</g>"
        }
        return text + "</svg>"
    }

    private static func text(_ hour: Timestamp) -> String { hour.rfc3339.dropFirst(11).prefix(5) + " UTC" }

    private static func rect(_ kind: String, _ x: Int, _ y: Int, width: Int = width, height: Int) -> String {
        "<rect class=\"\(kind)\" x=\"\(x)\" y=\"\(y)\" width=\"\(width)\" height=\"\(height)\"/>"
    }
}

extension SignInCount {
    /// Cancelled by the visitor at Apple: not a problem.
    var isCancelled: Bool { reason == ReasonCode.cancelled.rawValue }
}
