import Accounts
import Bramley
import Foundation
import Testing

/// The page is printed from the table of codes, and every code is one that something is refused with.
@Suite struct ReasonCodeDocumentTests {
    @Test func thePageSaysWhatTheTableSays() throws {
        let page = try String(contentsOf: packageRoot.appending(path: "docs/reference/failures.md"), encoding: .utf8)
        #expect(page == ReasonReference.page, "run `make docs`")
    }

    @Test(arguments: ReasonCode.allCases)
    func everyCodeHasARow(code: ReasonCode) {
        let (page, entry) = (ReasonReference.page, code.entry)
        #expect(page.contains("\n| `\(code.rawValue)` | \(entry.status) | \(entry.happened) | "))
        #expect((300..<600).contains(entry.status))
        #expect([entry.happened, entry.seen, entry.remedy].allSatisfy { !$0.isEmpty && !$0.contains("|") })
    }

    @Test func everyCodeIsUsed() throws {
        let sources = packageRoot.appending(path: "Sources")
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        var used = ""
        for case let file as URL in files
        where file.pathExtension == "swift" && !file.lastPathComponent.hasPrefix("ReasonCode") {
            used += try String(contentsOf: file, encoding: .utf8)
        }
        for code in ReasonCode.allCases {
            #expect(used.contains(".\(code)"), "\(code.rawValue) is never given")
        }
    }
}
