import Foundation
import Testing

@testable import Accounts

@Suite struct AuditDocumentTests {
    @Test(arguments: [
        ("docs/operate/audit-log.md", AuditEntry.Kind.allCases.map(\.rawValue)),
        ("docs/apps/events.md", JournalEntry.Kind.allCases.map(\.rawValue)),
    ])
    func everyTypeIsExplainedOnce(path: String, kinds: [String]) throws {
        let sections = try text(ofFile: path).components(separatedBy: "\n## ")
        let section = try #require(sections.first { $0.hasPrefix("Types\n") })
        let types = section.split(separator: "\n").filter { $0.hasPrefix("- `") }.flatMap { row in
            row.prefix { $0 != ":" }.matches(of: /`([a-z_.]+)`/).map { String($0.1) }
        }
        #expect(types.sorted() == kinds.sorted())
    }

    /// Nothing ends with `link_removed` any more.
    @Test(arguments: SessionEndCause.allCases.filter { $0 != .linkRemoved })
    func everyEndCauseIsDocumented(cause: SessionEndCause) throws {
        let line = try #require(
            try text(ofFile: "docs/apps/events.md").split(separator: "\n").first { $0.hasPrefix("`cause` of") })
        #expect(line.contains("`\(cause.rawValue)`"))
    }
}
