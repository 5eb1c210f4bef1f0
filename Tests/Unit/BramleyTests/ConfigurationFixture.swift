import Foundation

@testable import Bramley

/// A directory of its own with a key in it, removed at the end of the test.
final class ConfigurationFixture {
    let directory: URL
    var keyPath: String { directory.appending(path: "AuthKey.p8").path }

    init() throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "bramley-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        _ = try write(Self.pem, to: "AuthKey.p8")
    }

    deinit {
        try? FileManager.default.removeItem(at: directory)
    }

    /// Writes a file with the mode and gives its path.
    func write(_ text: String, to name: String, mode: Int = 0o600) throws -> String {
        let path = directory.appending(path: name).path
        try Data(text.utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return path
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

    /// Loads a good configuration with changes.
    func load(
        _ changes: [String: Any] = [:], environment: [String: String] = [:], flags: [String] = [],
        allowsSimulatedApple: Bool = false
    ) throws -> LoadedConfiguration {
        let path = try write(configuration(changes), to: "config.json")
        return try ConfigurationLoader.load(
            ConfigurationInput(
                path: path, environment: environment, flags: flags, allowsSimulatedApple: allowsSimulatedApple))
    }

    /// What a load finds wrong; empty when nothing is.
    func problems(
        _ changes: [String: Any] = [:], environment: [String: String] = [:], flags: [String] = [],
        allowsSimulatedApple: Bool = false
    ) throws -> [ConfigurationProblem] {
        do {
            return try load(
                changes, environment: environment, flags: flags, allowsSimulatedApple: allowsSimulatedApple
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

    /// A P-256 key made for these tests alone (`openssl ecparam -name prime256v1 -genkey | openssl pkcs8 -topk8 -nocrypt`).
    static let pem = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgsTGNKTqgCIHm+mf5
        ZMDK255HDwbKMtL1j3n9xXI4wiKhRANCAAQ5Ggt0ZlNsXbigJEPrL2jNIQuVU78a
        nOCRBIUglOLdyKO0Ps3QtqoNNwkr+iKg2mCxbab11+Rzc0/mhNRR0mbj
        -----END PRIVATE KEY-----

        """
}

/// The root of the package.
let packageRoot = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

func linkFile(at path: String, to target: String) throws {
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
}
