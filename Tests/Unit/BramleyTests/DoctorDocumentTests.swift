import ArgumentParser
import Bramley
import Foundation
import Testing

/// docs/reference/doctor.md names every kind of finding the program knows, and no other.
@Suite struct DoctorDocumentTests {
    private func document(_ path: String) throws -> String {
        let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: repository.appending(path: path), encoding: .utf8)
    }

    @Test func everyFindingIsDescribedOnceAndNoOther() throws {
        let rows = try document("docs/reference/doctor.md").matches(
            of: /(?m)^\| `([a-z_]+)` \| ([a-z, ]+) \| .+ \|$/)
        #expect(rows.map { String($0.1) } == Finding.allCases.map(\.rawValue))
        for row in rows { #expect(["wrong", "unsure", "wrong, unsure"].contains(String(row.2))) }
    }

    @Test func everyCheckIsNamed() throws {
        let text = try document("docs/reference/doctor.md")
        for check in Set(Finding.allCases.map(\.check.rawValue)) {
            #expect(text.contains("\n### `\(check)`\n"), "\(check)")
        }
    }

    @Test func itsExamplesAreUnderstood() throws {
        let examples = try document("docs/reference/doctor.md").split(separator: "\n").filter {
            $0.hasPrefix("bramley doctor")
        }
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
