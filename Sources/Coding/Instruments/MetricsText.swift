/// Writes metrics in Prometheus' text format, version 0.0.4.
package struct MetricsText: ~Copyable {
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private var bytes: [UInt8] = []

    package init() { bytes.reserveCapacity(32_768) }

    package consuming func finish() -> [UInt8] { bytes }

    /// Begins a family; following samples belong to it.
    package mutating func begin(_ family: MetricFamily) {
        append("# HELP \(family.name) ")
        // A help text does not escape quotation marks.
        append(family.help, escapingQuotes: false)
        append("\n# TYPE \(family.name) \(family.kind.rawValue)\n")
    }

    /// A family of one sample without labels, omitted when there is no value.
    package mutating func one(_ family: MetricFamily, _ value: Double?) {
        begin(family)
        if let value { sample(family, [], value) }
    }

    /// - Parameter labels: their values, in the family's order.
    package mutating func sample(_ family: MetricFamily, _ labels: [String], _ value: Double) {
        line(family, "", labels, nil, Self.text(value))
    }

    package mutating func sample(_ family: MetricFamily, _ labels: [String], _ value: Int) {
        line(family, "", labels, nil, String(value))
    }

    package mutating func sample(_ family: MetricFamily, _ labels: [String], _ reading: HistogramReading) {
        var total = 0
        for (bound, count) in zip(reading.bounds, reading.counts) {
            total += count
            line(family, "_bucket", labels, Self.shown(bound, reading.unit), String(total))
        }
        total += reading.counts.last ?? 0
        line(family, "_bucket", labels, "+Inf", String(total))
        line(family, "_sum", labels, nil, Self.shown(reading.sum, reading.unit))
        line(family, "_count", labels, nil, String(total))
    }

    private mutating func line(
        _ family: MetricFamily, _ suffix: String, _ labels: [String], _ bound: String?, _ value: String
    ) {
        append(family.name)
        append(suffix)
        var separator = "{"
        for (label, value) in zip(family.labels, labels) {
            append("\(separator)\(label.name)=\"")
            append(value, escapingQuotes: true)
            append("\"")
            separator = ","
        }
        if let bound {
            append("\(separator)le=\"\(bound)\"")
            separator = ","
        }
        if separator == "," { append("}") }
        append(" \(value)\n")
    }

    private static func shown(_ value: Int64, _ unit: Histogram.Unit) -> String {
        switch unit {
        case .count: String(value)
        case .seconds: text(Double(value) / 1e9)
        }
    }

    /// As Go's ParseFloat reads it.
    static func text(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if value == value.rounded(), abs(value) < 9e15 { return String(Int64(value)) }
        return value.description
    }

    private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

    private mutating func append(_ text: String, escapingQuotes: Bool) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): append("\\\\")
            case UInt8(ascii: "\n"): append("\\n")
            case UInt8(ascii: "\"") where escapingQuotes: append("\\\"")
            default: bytes.append(byte)
            }
        }
    }
}

/// A metric: its name, what it measures, and its labels.
package struct MetricFamily: Hashable, Sendable {
    package enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    package struct Label: Hashable, Sendable {
        package var name: String
        /// Every possible value; empty when they are bounded only by the sources or the configuration.
        package var values: [String]
        /// Instead of values that are too many to list.
        package var described: String?

        package init(_ name: String, _ values: [String], described: String? = nil) {
            self.name = name
            self.values = values
            self.described = described
        }

        package init(_ name: String, described: String) { self.init(name, [], described: described) }
    }

    package let name: String
    package let kind: Kind
    /// One sentence, for readers of the page or a dashboard.
    package let help: String
    package let labels: [Label]

    package init(_ name: String, _ kind: Kind, _ help: String, labels: [Label] = []) {
        self.name = name
        self.kind = kind
        self.help = help
        self.labels = labels
    }
}
