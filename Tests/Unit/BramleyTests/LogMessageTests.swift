import Logging
import Testing

@testable import Bramley

/// What the server logs from level info up, and the table that explains it.
struct LogMessageTests {
    private struct Site: Hashable {
        let message: String
        /// Nil if it is chosen where it is logged.
        let level: String?
    }

    private static let explained = LogMessage.groups.flatMap { level, entries in
        entries.flatMap(\.messages).map { Site(message: $0, level: level.rawValue) }
    }

    private static func sites(in source: String) -> [Site] {
        let site = /ogger\s*\.(?:(info|notice|warning|error|critical)\(|log\(\s*level: [^,]+,)\s*"([^"\\]+)"/
        return source.matches(of: site).map { Site(message: String($0.2), level: $0.1.map(String.init)) }
    }

    private static func unexplained(in source: String) -> [Site] {
        sites(in: source).filter { site in
            !explained.contains { $0.message == site.message && [nil, $0.level].contains(site.level) }
        }
    }

    private static let server = packageSources.filter {
        !$0.key.hasPrefix("AppleSimulator/") && !$0.key.hasSuffix("LogMessage+Groups.swift")
    }.values

    @Test func everyMessageIsExplainedOnceWithItsLevel() {
        #expect(Self.server.flatMap(Self.sites).count > 60)
        #expect(Self.server.flatMap(Self.unexplained) == [])
        #expect(Set(Self.explained.map(\.message)).count == Self.explained.count)
    }

    @Test(arguments: LogMessage.groups.flatMap(\.messages).flatMap(\.messages))
    func everyExplainedMessageIsLogged(message: String) {
        let literal = "\"\(message.replacing("webhooks.secretFile", with: "\\(key)"))\""
        #expect(Self.server.contains { $0.contains(literal) })
    }

    @Test func plantedMessageIsFound() {
        #expect(Self.unexplained(in: "logger.error(\n    \"disk on fire\", metadata: [:])").count == 1)
        #expect(Self.unexplained(in: "logger.error(\"signed in\")").count == 1)
        #expect(Self.unexplained(in: "logger.info(\"signed in\")").isEmpty)
    }
}
