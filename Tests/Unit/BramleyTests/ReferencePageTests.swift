import Foundation
import Testing

@testable import Bramley

/// What `make docs` and `bramley explain` print of the names that an operator meets.
struct ReferencePageTests {
    @Test(arguments: ReferencePage.allCases)
    func pageMatchesTheProgram(page: ReferencePage) throws {
        let path = "docs/reference/\(page.rawValue).md"
        let written = try String(contentsOf: packageRoot.appending(path: path), encoding: .utf8)
        #expect(written == page.text, "run `make docs`")
    }

    @Test func everyNameIsExplained() {
        for explanation in Explanation.all {
            #expect(explanation.lines.contains { !$0.text.isEmpty }, "\(explanation.name)")
            #expect(explanation.lines.allSatisfy { $0.label.utf8.count < 15 }, "\(explanation.name)")
        }
    }

    @Test(arguments: [
        ("free or [repair](../operate/limits.md#x) it", "free or repair (docs/operate/limits.md#x) it"),
        ("see [a code](failures.md)", "see a code (docs/reference/failures.md)"),
        ("Apple refused *you*; **required**", "Apple refused you; required"),
        ("`X-Forwarded-*` or `X-Original-*`, such as `[\"admins\"]`", nil),
    ])
    func linksAndEmphasisArePlainInATerminal(text: String, plain: String?) {
        #expect(Explanation.plain(text) == plain ?? text)
    }
}
