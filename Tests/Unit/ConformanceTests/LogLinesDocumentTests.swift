import Testing

/// docs/reference/log-lines.md explains every message of the server's log.
@Suite struct LogLinesDocumentTests {
    /// Messages at `info` and above: what is `debug` is noise from clients.
    private static func messages(_ repository: Repository) -> Set<String> {
        let message = /ogger\s*\.(?:(?:info|notice|warning|error|critical)\(|log\(\s*level: \w+,)\s*"([^"\\]+)"/
        return Set(
            repository.sources.filter { !$0.hasPrefix("Sources/AppleSimulator/") }.flatMap { path in
                (repository.files[path] ?? "").matches(of: message).map { String($0.1) }
            })
    }

    private static func unexplained(_ repository: Repository, on page: String) -> [String] {
        let names = page.split(separator: "\n").compactMap { $0.firstMatch(of: /^\| (.+?) \|/) }.map { $0.1 }
        return messages(repository).filter { message in !names.contains { $0.contains(message) } }.sorted()
    }

    @Test func everyMessageIsExplained() throws {
        let page = try #require(Repository.real.files["docs/reference/log-lines.md"])
        #expect(Self.messages(.real).count > 60)
        #expect(Self.unexplained(.real, on: page) == [])
    }

    @Test func plantedMessageIsFound() {
        let source = "logger.error(\n    \"disk on fire\", metadata: [:])"
        #expect(
            Self.unexplained(Repository(planted: ["Sources/A.swift": source]), on: "| fine | good |")
                == ["disk on fire"])
    }
}
