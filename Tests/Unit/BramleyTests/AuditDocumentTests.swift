import Foundation
import Testing

@testable import Accounts

/// docs/operations/audit-log.md lists every type of the audit log, and no other.
@Suite struct AuditDocumentTests {
    @Test func everyTypeIsExplainedOnce() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appending(path: "docs/operations/audit-log.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        let table = try #require(text.components(separatedBy: "| Type |").last)
        let rows = table.split(separator: "\n").filter { $0.hasPrefix("| `") }
        let types = rows.flatMap { row in
            row.split(separator: "|")[0].matches(of: /`([a-z_.]+)`/).map { String($0.1) }
        }
        #expect(types.sorted() == AuditEntry.Kind.allCases.map(\.rawValue).sorted())
    }
}
