import Accounts
import Bramley
import Testing

/// Every code is explained, and is one that something is refused with.
@Suite struct ReasonCodeDocumentTests {
    @Test(arguments: ReasonCode.allCases)
    func everyCodeHasARow(code: ReasonCode) {
        let (page, entry) = (ReferencePage.failures.text, code.entry)
        #expect(page.contains("\n- `\(code.rawValue)` (\(entry.status)): \(entry.happened)"))
        #expect((300..<600).contains(entry.status))
        #expect([entry.happened, entry.seen, entry.remedy].allSatisfy { !$0.isEmpty && !$0.contains("|") })
    }

    @Test func everyCodeIsUsed() {
        let used = packageSources.filter { !$0.key.contains("/ReasonCode") }.values.joined()
        for code in ReasonCode.allCases {
            #expect(used.contains(".\(code)"), "\(code.rawValue) is never given")
        }
    }
}
