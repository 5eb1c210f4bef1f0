/// What a metric is: its name, what it measures, and which labels it may carry.
package struct MetricFamily: Hashable, Sendable {
    package enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    package struct Label: Hashable, Sendable {
        package var name: String
        /// Every value it can have; empty when `described` says what they are instead.
        package var values: [String]
        /// For values that the sources or the configuration bound, and that are too many to list.
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
    /// One sentence, for whoever reads the page or a dashboard.
    package let help: String
    package let labels: [Label]

    package init(_ name: String, _ kind: Kind, _ help: String, labels: [Label] = []) {
        self.name = name
        self.kind = kind
        self.help = help
        self.labels = labels
    }
}
