import Certificates
import Foundation
import TemporaryFolders

@testable import Bramley

/// A directory of its own with a key in it, removed at the end of the test.
final class ConfigurationFixture {
    let directory: URL
    private let folder: TemporaryFolder
    var keyPath: String { directory.appending(path: "AuthKey.p8").path }

    init() {
        do {
            folder = try TemporaryFolder(mode: 0o755)
            directory = URL(filePath: folder.path)
            _ = try write(TestKeys.first, to: "AuthKey.p8")
        } catch {
            fatalError("a configuration cannot be written: \(error)")
        }
    }

    /// Writes a file with the mode and gives its path.
    func write(_ text: String, to name: String, mode: Int = 0o600) throws -> String {
        try folder.write(text, to: name, mode: mode)
    }

    /// A good configuration, behind a proxy unless `server` is given, with members replaced (`["apple": ["teamID": "X"]]` merges into the group) or, by NSNull
    /// in the map, removed.
    func configuration(_ changes: [String: Any] = [:]) throws -> String {
        var all: [String: Any] = [
            "publicURL": "https://id.example.com",
            "access": ["signUp": "open"],
            "apple": [
                "servicesID": "com.example.web", "teamID": "A1B2C3D4E5", "keyID": "F6G7H8I9J0",
                "privateKeyFile": keyPath, "scopes": ["name", "email"], "bundleIDs": ["com.example.app"],
            ] as [String: Any],
            "storage": ["directory": directory.appending(path: "data").path],
        ]
        if changes["server"] == nil { all["server"] = ["trustedProxies": ["127.0.0.1"]] }
        for (name, value) in changes {
            if let group = value as? [String: Any] {
                var merged = all[name] as? [String: Any] ?? [:]
                for (key, value) in group { merged[key] = value is NSNull ? nil : value }
                all[name] = merged
            } else {
                all[name] = value is NSNull ? nil : value
            }
        }
        let data = try JSONSerialization.data(withJSONObject: all, options: [.sortedKeys, .withoutEscapingSlashes])
        return String(decoding: data, as: UTF8.self)
    }

    func load(
        _ changes: [String: Any] = [:], environment: [String: String] = [:], flags: [String] = [],
        simulatedApple: SimulatedApple = .refused
    ) throws -> LoadedConfiguration {
        let path = try write(configuration(changes), to: "config.json")
        return try ConfigurationLoader.load(
            ConfigurationInput(
                path: path, environment: environment, flags: flags, simulatedApple: simulatedApple))
    }

    /// What a load finds wrong; empty when nothing is.
    func problems(
        _ changes: [String: Any] = [:], environment: [String: String] = [:], flags: [String] = [],
        simulatedApple: SimulatedApple = .refused
    ) throws -> [ConfigurationProblem] {
        do {
            return try load(
                changes, environment: environment, flags: flags, simulatedApple: simulatedApple
            ).warnings
        } catch let failure as ConfigurationFailure {
            return failure.problems
        }
    }

    /// What a load of this very text finds wrong.
    func problems(ofText text: String) throws -> [ConfigurationProblem] {
        let path = try write(text, to: "config.json")
        do {
            return try ConfigurationLoader.load(ConfigurationInput(path: path)).warnings
        } catch {
            return error.problems
        }
    }
}

let packageRoot = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

/// The programs' sources, by their paths below Sources.
let packageSources: [String: String] = {
    let root = packageRoot.appending(path: "Sources").path
    let names = FileManager.default.enumerator(atPath: root)?.compactMap { $0 as? String } ?? []
    var texts: [String: String] = [:]
    for name in names where name.hasSuffix(".swift") {
        texts[name] = try? String(contentsOfFile: root + "/" + name, encoding: .utf8)
    }
    return texts
}()
func text(ofFile path: String) throws -> String {
    try String(contentsOf: packageRoot.appending(path: path), encoding: .utf8)
}

func linkFile(at path: String, to target: String) throws {
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
}
