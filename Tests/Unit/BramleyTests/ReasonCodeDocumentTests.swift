import Accounts
import Bramley
import Foundation
import Testing

@Suite struct ReasonCodeDocumentTests {
    @Test(arguments: ReasonCode.allCases)
    func everyCodeHasARow(code: ReasonCode) {
        let (page, entry) = (ReferencePage.failures.text, code.entry)
        #expect(page.contains("\n- `\(code.rawValue)` (\(entry.status)): \(entry.happened)"))
        #expect((300..<600).contains(entry.status))
        #expect([entry.happened, entry.seen, entry.remedy].allSatisfy { !$0.isEmpty && !$0.contains("|") })
    }

    @Test("An expired cursor leads to the section that says how to continue")
    func cursorExpired() throws {
        #expect(ReasonCode.cursorExpired.entry.remedy.contains("(api.md#get-apiv1events)"))
        let sections = try text(ofFile: "docs/reference/api.md").components(separatedBy: "\n## ")
        let section = try #require(sections.first { $0.hasPrefix("GET /api/v1/events\n") })
        #expect(section.contains("On 410"))
    }

    @Test func everyCodeIsUsed() {
        let used = packageSources.filter { !$0.key.contains("/ReasonCode") }.values.joined()
        for code in ReasonCode.allCases {
            #expect(used.contains(".\(code)"), "\(code.rawValue) is never given")
        }
    }
}
