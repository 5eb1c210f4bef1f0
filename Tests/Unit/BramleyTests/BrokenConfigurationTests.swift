import Foundation
import Testing

@testable import Bramley

/// Golden files: what `bramley check` says about each configuration in `Broken/`, word for word.
///
/// To write them again after a change of words: `GOLDEN=write swift test --filter BrokenConfigurationTests`, then read
/// the difference.
struct BrokenConfigurationTests {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Broken")
    static let names: [String] = {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return files.filter { $0.hasSuffix(".json") }.map { String($0.dropLast(5)) }.sorted()
    }()

    @Test func thereAreBrokenConfigurations() {
        #expect(Self.names.count >= 8)
    }

    @Test(arguments: names)
    func saysWhatIsWrongWordForWord(name: String) throws {
        let fixture = ConfigurationFixture()
        let source = Self.folder.appending(path: name + ".json")
        let text = try String(contentsOf: source, encoding: .utf8).replacing("@KEY@", with: fixture.keyPath)
            .replacing("@HERE@", with: Self.folder.path)
        let path = try fixture.write(text, to: "config.json")
        let failure = #expect(throws: ConfigurationFailure.self) {
            try ConfigurationLoader.load(ConfigurationInput(path: path))
        }
        let said =
            try #require(failure).description.replacing(fixture.directory.path + "/", with: "")
            .replacing(Self.folder.path + "/", with: "") + "\n"
        let golden = Self.folder.appending(path: name + ".txt")
        if ProcessInfo.processInfo.environment["GOLDEN"] == "write" { try Data(said.utf8).write(to: golden) }
        #expect(try String(contentsOf: golden, encoding: .utf8) == said)
    }
}
