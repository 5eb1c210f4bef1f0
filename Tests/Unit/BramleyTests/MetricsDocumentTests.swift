import Coding
import Foundation
import Testing

@testable import Bramley

/// Names of metrics, and what docs/operate queries.
struct MetricsDocumentTests {
    private static let families = Metric.groups.flatMap(\.metrics).map(\.family)

    @Test func namesAreThoseOfPrometheus() {
        #expect(Set(Self.families.map(\.name)).count == Self.families.count)
        for family in Self.families {
            #expect(family.name.wholeMatch(of: /bramley_[a-z0-9_]+/) != nil, "\(family.name)")
            #expect((family.kind == .counter) == family.name.hasSuffix("_total"), "\(family.name)")
            #expect(family.help.hasSuffix("."), "\(family.name)")
            for label in family.labels {
                #expect(label.name.wholeMatch(of: /[a-z]+/) != nil && label.name != "le", "\(family.name)")
            }
        }
    }

    /// Names of ours in a text that are no metric, with the series of histograms told apart.
    private func unknown(in text: String) -> Set<String> {
        let names = Self.families.flatMap { family in
            family.kind == .histogram
                ? ["_bucket", "_sum", "_count", ""].map { family.name + $0 } : [family.name]
        }
        return Set(text.matches(of: /bramley_[a-z0-9_]+/).map { String($0.0) }).subtracting(names)
    }

    @Test(arguments: [
        "docs/operate/alerts.yml", "docs/operate/incidents.md", "Tests/System/Commands/alerts.test.yml",
    ])
    func everyMetricThatIsNamedExists(path: String) throws {
        let found = try text(ofFile: path)
        #expect(found.contains("bramley_"))
        #expect(unknown(in: found) == [])
    }

    @Test func everyQueryOfTheDashboardHasItsMetric() throws {
        let data = try Data(contentsOf: packageRoot.appending(path: "docs/operate/grafana-dashboard.json"))
        let dashboard = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let panels = try #require(dashboard["panels"] as? [[String: Any]])
        var (queried, ids): (Set<String>, Set<Int>) = ([], [])
        for panel in panels {
            let title = try #require(panel["title"] as? String)
            #expect(ids.insert(try #require(panel["id"] as? Int)).inserted, "\(title)")
            guard panel["type"] as? String != "row" else { continue }
            #expect((panel["datasource"] as? [String: Any])?["uid"] as? String == "${datasource}", "\(title)")
            let targets = try #require(panel["targets"] as? [[String: Any]], "\(title)")
            #expect(!targets.isEmpty, "\(title)")
            for target in targets {
                let query = try #require(target["expr"] as? String)
                #expect(unknown(in: query) == [], "\(title)")
                // A histogram is queried by its series, never by its own name.
                for family in Self.families where family.kind == .histogram {
                    #expect(!query.contains(family.name + "{"), "\(title)")
                }
                queried.formUnion(query.matches(of: /bramley_[a-z0-9_]+/).map { String($0.0) })
            }
        }
        // And each metric is on it somewhere.
        let missing = Self.families.map(\.name).filter { name in !queried.contains { $0.hasPrefix(name) } }
        #expect(missing == [])
        let variables = (dashboard["templating"] as? [String: Any])?["list"] as? [[String: Any]] ?? []
        #expect(variables.contains { $0["name"] as? String == "datasource" && $0["type"] as? String == "datasource" })
    }

    @Test func everyAlertHasItsChapter() throws {
        let alerts = try text(ofFile: "docs/operate/alerts.yml")
        let incidents = try text(ofFile: "docs/operate/incidents.md")
        let names = alerts.matches(of: /- alert: (\w+)/).map { String($0.1) }
        #expect(names.count > 15 && Set(names).count == names.count)
        #expect(incidents.matches(of: /\n## (\w+)\n/).map { String($0.1) } == names)
        let runbooks = alerts.matches(of: /runbook: docs\/operate\/incidents\.md#(\w+)\n/).map { String($0.1) }
        #expect(runbooks == names.map { $0.lowercased() })
        #expect(alerts.matches(of: /\n          summary: "/).count == names.count)
        for name in names {
            let chapter = incidents.components(separatedBy: "\n## \(name)\n").last ?? ""
            let end = chapter.range(of: "\n## ")?.lowerBound ?? chapter.endIndex
            for part in ["**Look at**", "**Do**"] {
                #expect(chapter[..<end].contains(part), "\(name) \(part)")
            }
        }
    }

    @Test func unknownNamesOfMetricsAreFound() {
        #expect(unknown(in: "rate(bramley_nothing_total[5m])") == ["bramley_nothing_total"])
        #expect(unknown(in: "bramley_ready_bucket") == ["bramley_ready_bucket"])
    }
}
