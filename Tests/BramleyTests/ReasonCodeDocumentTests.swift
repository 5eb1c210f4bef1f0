import Foundation
import Testing

@testable import Accounts

/// docs/reason-codes.md and the enumeration hold the same codes, and every code is one that something is refused with.
@Suite struct ReasonCodeDocumentTests {
    private static let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The cells of each row of the table.
    private static func rows() throws -> [[String]] {
        let text = try String(contentsOf: repository.appending(path: "docs/reason-codes.md"), encoding: .utf8)
        return text.split(separator: "\n").filter { $0.hasPrefix("| `") }.map { line in
            line.dropFirst().dropLast().split(separator: "|", omittingEmptySubsequences: false).map {
                $0.trimmingCharacters(in: .whitespaces)
            }
        }
    }

    @Test func everyCodeHasOneRowAndEveryRowIsACode() throws {
        let codes = try Self.rows().map { String($0[0].dropFirst().dropLast()) }
        #expect(codes.count == Set(codes).count, "a code has two rows")
        #expect(Set(codes) == Set(ReasonCode.allCases.map(\.rawValue)))
    }

    @Test func everyRowSaysWhatHappenedWhatWasSeenAndWhatToDo() throws {
        for row in try Self.rows() {
            #expect(row.count == 5, "\(row)")
            #expect(row.allSatisfy { !$0.isEmpty }, "\(row)")
            #expect(["debug", "info", "warning", "error"].contains(row[1]), "\(row)")
        }
    }

    @Test func everyCodeIsUsed() throws {
        let sources = Self.repository.appending(path: "Sources")
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        var used = ""
        for case let file as URL in files
        where file.pathExtension == "swift" && file.lastPathComponent != "ReasonCode.swift" {
            used += try String(contentsOf: file, encoding: .utf8)
        }
        for code in ReasonCode.allCases {
            #expect(used.contains(".\(code)"), "\(code.rawValue) is never given")
        }
    }
}
