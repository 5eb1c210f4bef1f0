/// A metric: its name, what it measures, and its labels.
package struct MetricFamily: Hashable, Sendable {
    package enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    package struct Label: Hashable, Sendable {
        package var name: String
        /// Every possible value; empty when `described` describes them instead.
        package var values: [String]
        /// For values that are bounded by the sources or the configuration and too many to list.
        package var described: String?

        package init(_ name: String, _ values: [String]) {
            self.name = name
            self.values = values
        }

        package init(_ name: String, described: String) {
            self.name = name
            values = []
            self.described = described
        }
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
