import ArgumentParser
import Bramley
import Testing

@Suite struct DoctorDocumentTests {
    private let page = ReferencePage.doctor.text

    @Test func everyFindingAndCheckIsDescribedOnceAndNoOther() {
        let rows = page.matches(of: /(?m)^  - `([a-z_]+)`(?: \(\*unsure\*\))?: .+$/)
        #expect(rows.map { String($0.1) } == Finding.allCases.map(\.rawValue))
        let checks = page.matches(of: /(?m)^- `([a-z_]+)`$/).map { String($0.1) }
        #expect(Set(checks) == Set(Finding.allCases.map(\.check.rawValue)))
        #expect(Set(checks).count == checks.count)
    }

    @Test func itsExamplesAreUnderstood() {
        let examples = page.split(separator: "\n").filter { $0.hasPrefix("bramley doctor") }
        #expect(!examples.isEmpty)
        for example in examples {
            let words = example.prefix { $0 != "|" && $0 != "#" }.split(separator: " ").dropFirst().map(String.init)
            #expect(throws: Never.self, "\(example)") { _ = try BramleyCommand.parseAsRoot(words) }
        }
    }

    @Test(arguments: ["doctor now", "doctor --publicURL x", "doctor --json=yes"])
    func unknownChecksAndFlagsAreRefused(line: String) {
        #expect(throws: (any Error).self) {
            _ = try BramleyCommand.parseAsRoot(line.split(separator: " ").map(String.init))
        }
    }
}
