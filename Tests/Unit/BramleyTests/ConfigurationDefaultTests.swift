import Bramley
import Foundation
import Testing

/// A key's default is written once, at its property. Reads the sources.
struct ConfigurationDefaultTests {
    /// The table's entries with a property, as written.
    private static let entries: [Substring] = packageSources.filter { $0.key.contains("ConfigurationTable+") }.values
        .flatMap { $0.split(separator: /(?m)^        Key\(|^        Key\.twins\(/) }.filter { $0.contains("into: \\") }

    @Test("an entry with a property names no default")
    func entryNamesNoDefault() {
        #expect(Self.entries.count > 60)
        for entry in Self.entries { #expect(!entry.contains(".default("), "\(entry.prefix(80))") }
    }

    /// What properties and parameters of initialisers begin with, by their name: `var perUser = 100`,
    /// `init(perUser: Int = 100)`. Each value as written, without the type's name, and its file.
    private static let beginnings: [String: [(value: String, file: String)]] = {
        var found: [String: [(value: String, file: String)]] = [:]
        for (file, text) in packageSources {
            let properties = text.matches(of: /package var (\w+)(?:: [^=\n{]+)? = (.+)/).map(\.output)
            let parameters = text.matches(of: /\binit\([^{]*\{/).flatMap {
                $0.output.matches(of: /(\w+): [\w.<>?\[\]: ]+ = ([^,\n)]+)/).map(\.output)
            }
            for (_, name, value) in properties + parameters {
                let plain = String(value.split(separator: ".").last ?? "").replacing("_", with: "")
                found[String(name), default: []].append((plain, file))
            }
        }
        return found
    }()

    @Test("a key's default is not repeated at another property or parameter")
    func defaultIsWrittenOnce() throws {
        var compared = 0
        for entry in Self.entries {
            let names = try #require(entry.firstMatch(of: /"([\w.]+)",[^\\]*into: \\[\w.]*\.(\w+)/))
            let written: Set<String>
            switch ConfigurationTable.byName[String(names.1)]?.presence.value {
            // Some are stored in milliseconds.
            case .integer(let number)?: written = ["\(number)", "\(number * 1000)"]
            case .text(let text)?: written = [text, "\"\(text)\""]
            default: continue
            }
            let places = Self.beginnings[String(names.2), default: []].filter { written.contains($0.value) }
            #expect(places.count <= 1, "\(names.1): \(places)")
            compared += places.count
        }
        #expect(compared > 25, "the test no longer finds where defaults stand")
    }
}
