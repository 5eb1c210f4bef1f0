import Testing

@testable import Coding

struct MetricsTextTests {
    private func page(_ write: (inout MetricsText) -> Void) -> String {
        var text = MetricsText()
        write(&text)
        return String(decoding: text.finish(), as: UTF8.self)
    }

    private func first(_ text: String) -> String { String(text.split(separator: "\n")[2]) }

    @Test func aCounterWithLabels() {
        let family = MetricFamily(
            "a_total", .counter, "How many.", labels: [.init("x", ["1"]), .init("y", described: "anything")])
        let text = page {
            $0.begin(family)
            $0.sample(family, ["1", "é"], 3)
        }
        #expect(text == "# HELP a_total How many.\n# TYPE a_total counter\na_total{x=\"1\",y=\"é\"} 3\n")
    }

    @Test(
        "Label values are escaped",
        arguments: [
            ("a\"b", #"a\"b"#), ("a\\b", #"a\\b"#), ("a\nb", #"a\nb"#), ("\\n", #"\\n"#), ("}{,=", "}{,="), ("", ""),
        ])
    func labelValues(value: String, shown: String) {
        let family = MetricFamily("a", .gauge, "h", labels: [.init("x", described: "")])
        let text = page {
            $0.begin(family)
            $0.sample(family, [value], 1)
        }
        #expect(first(text) == "a{x=\"\(shown)\"} 1")
    }

    @Test(
        "Numbers as Go reads them",
        arguments: [
            (0.0, "0"), (-3, "-3"), (1.5, "1.5"), (1e-05, "1e-05"), (.nan, "NaN"), (.infinity, "+Inf"),
            (-.infinity, "-Inf"), (1_700_000_000, "1700000000"), (1e300, "1e+300"),
        ])
    func numbers(value: Double, text: String) {
        #expect(MetricsText.text(value) == text)
    }

    @Test func aHistogramAddsItsBucketsUp() {
        let family = MetricFamily("h_seconds", .histogram, "h", labels: [.init("route", described: "")])
        let histogram = Histogram(.seconds, bounds: [500_000, 1_000_000_000])
        for value: Int64 in [1, 500_000, 500_001, 2_000_000_000] { histogram.record(value) }
        let text = page {
            $0.begin(family)
            $0.sample(family, ["/a"], histogram.reading)
        }
        #expect(
            text.split(separator: "\n").dropFirst(2) == [
                "h_seconds_bucket{route=\"/a\",le=\"0.0005\"} 2", "h_seconds_bucket{route=\"/a\",le=\"1\"} 3",
                "h_seconds_bucket{route=\"/a\",le=\"+Inf\"} 4", "h_seconds_sum{route=\"/a\"} 2.001000002",
                "h_seconds_count{route=\"/a\"} 4",
            ])
    }

    @Test func aHistogramWithoutLabelsHasOnlyItsBound() {
        let family = MetricFamily("h", .histogram, "h")
        let text = page { $0.sample(family, [], Histogram(.count, bounds: [1]).reading) }
        #expect(text == "h_bucket{le=\"1\"} 0\nh_bucket{le=\"+Inf\"} 0\nh_sum 0\nh_count 0\n")
    }

    @Test func descriptionIsEscaped_AndStaysWithoutAValue() {
        let text = page { $0.one(MetricFamily("a", .gauge, "h"), Double?.none) }
        #expect(text == "# HELP a h\n# TYPE a gauge\n")
        let help = page { $0.one(MetricFamily("a", .gauge, "a \"b\" \\ c\nd"), 1) }
        #expect(help.hasPrefix("# HELP a a \"b\" \\\\ c\\nd\n"))
    }
}
