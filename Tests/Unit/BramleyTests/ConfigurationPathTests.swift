import Accounts
import AppleID
import Foundation
import Storage
import Testing
import Web

@testable import Bramley

/// Where relative paths begin, and which file is read.
@Suite struct ConfigurationPathTests {
    private let fixture = ConfigurationFixture()

    @Test("Every key that names a file or a folder, and no other")
    func pathKeys() {
        let paths = Set(ConfigurationTable.keys.filter(\.isPath).map(\.name))
        #expect(
            paths.isSuperset(of: [
                "storage.directory", "apple.privateKeyFile", "apple.nextPrivateKeyFile", "server.certificateFile",
                "server.privateKeyFile", "forwardAuth.rulesFile", "pages.directory", "secrets.sealingKeyFile",
                "secrets.previousSealingKeyFiles", "webhooks.secretFile",
            ]))
        for key in ConfigurationTable.keys where key.isPath {
            #expect(key.type == .text || key.type == .list, "\(key.name)")
        }
    }

    @Test func pathsOfTheFileBeginAtItsFolder() throws {
        let folder = fixture.directory.path
        let hex = String(repeating: "0a", count: 32)
        for name in ["one.key", "two.key", "sealing.key"] {
            _ = try fixture.write(hex.replacing("0a", with: name == "one.key" ? "0a" : "0b"), to: name)
        }
        _ = try fixture.write("whsec_" + Data(repeating: 7, count: 32).base64EncodedString(), to: "hooks")
        _ = try fixture.write(#"{"rules": [{"allow": "public"}]}"#, to: "rules.json")
        try FileManager.default.createDirectory(atPath: folder + "/pages", withIntermediateDirectories: true)
        let configuration = try fixture.load([
            "apple": ["privateKeyFile": "AuthKey.p8"], "storage": ["directory": "./data/"],
            "server": ["trustedProxies": ["127.0.0.1"]], "forwardAuth": ["rulesFile": "rules.json"],
            "pages": ["directory": "pages"],
            "secrets": ["sealingKeyFile": "sealing.key", "previousSealingKeyFiles": ["one.key"]],
            "webhooks": [
                "url": ["https://hooks.example.com/"], "secretFile": "../\(fixture.directory.lastPathComponent)/hooks",
            ],
        ]).configuration
        #expect(configuration.apple.key.file == folder + "/AuthKey.p8")
        #expect(configuration.storage.directory == folder + "/./data")
        #expect(configuration.pagesDirectory == folder + "/pages")
        #expect(configuration.secrets.previousSealingKeys.count == 1)
        #expect(!configuration.webhooks.isEmpty && configuration.web.accessRules != nil)
        guard case .file(let key) = configuration.secrets.sealingKey else { return #expect(Bool(false)) }
        #expect(key == folder + "/sealing.key")
    }

    @Test func theDefaultOfTheDirectoryTooAndTheSealingKeyInIt() throws {
        let configuration = try fixture.load(["storage": ["directory": NSNull()]]).configuration
        #expect(configuration.storage.directory == fixture.directory.path + "/data")
        guard case .file(let key) = configuration.secrets.sealingKey else { return #expect(Bool(false)) }
        #expect(key == fixture.directory.path + "/data/sealing.key")
    }

    @Test("Paths in flags and the environment begin at the working directory")
    func othersBeginAtTheWorkingDirectory() throws {
        let byFlag = try fixture.load(flags: ["--storage-directory", "some/place"]).configuration
        #expect(byFlag.storage.directory == "some/place")
        let byVariable = try fixture.load(environment: ["BRAMLEY_STORAGE_DIRECTORY": "other"]).configuration
        #expect(byVariable.storage.directory == "other")
        let list = try fixture.problems(environment: ["BRAMLEY_SECRETS_PREVIOUS_SEALING_KEY_FILES": "a.key,b.key"])
        #expect(list.contains { $0.fault.hasPrefix("\"a.key\" does not exist") })
    }

    @Test(arguments: [
        ("config.json", "data", "data"), ("config.json", "/srv/data", "/srv/data"),
        ("/etc/bramley/config.json", "/etc/bramley/AuthKey.p8", "/etc/bramley/AuthKey.p8"),
        ("conf/config.json", "conf/AuthKey.p8", "AuthKey.p8"), ("conf/config.json", "./conf/../conf/x", "x"),
        ("./config.json", "data", "data"),
    ])
    func whatInitWritesIsThePathThatWasGiven(file: String, given: String, written: String) {
        #expect(ConfigurationFolder(of: file).relative(given) == written)
    }

    @Test func initWritesAbsolutePathsOutsideTheFilesFolder() {
        let here = FileManager.default.currentDirectoryPath
        #expect(ConfigurationFolder(of: "conf/config.json").relative("AuthKey.p8") == here + "/AuthKey.p8")
        #expect(ConfigurationFolder(of: "/etc/bramley/config.json").relative("data") == here + "/data")
    }

    private func load(
        _ path: String? = nil, system: String, _ environment: [String: String] = [:]
    ) -> Result<LoadedConfiguration, ConfigurationFailure> {
        do throws(ConfigurationFailure) {
            let input = ConfigurationInput(path: path, systemPath: system, environment: environment)
            return .success(try ConfigurationLoader.load(input))
        } catch {
            return .failure(error)
        }
    }

    @Test("--config, then BRAMLEY_CONFIG, then the system's file")
    func order() throws {
        let (one, two, three) = try (
            fixture.write(fixture.configuration(["publicURL": "https://one.example.com"]), to: "one.json"),
            fixture.write(fixture.configuration(["publicURL": "https://two.example.com"]), to: "two.json"),
            fixture.write(fixture.configuration(["publicURL": "https://three.example.com"]), to: "three.json")
        )
        func host(_ path: String?, _ environment: [String: String]) throws -> String {
            try load(path, system: three, environment).get().configuration.web.publicURL.host
        }
        #expect(try host(one, ["BRAMLEY_CONFIG": two]) == "one.example.com")
        #expect(try host(nil, ["BRAMLEY_CONFIG": two]) == "two.example.com")
        #expect(try host(nil, ["BRAMLEY_CONFIG": ""]) == "three.example.com")
        #expect(try host(nil, [:]) == "three.example.com")
        #expect(ConfigurationInput().systemPath == "/etc/bramley/config.json")
    }

    /// As the Debian package installs it.
    @Test func withoutSettingsTheOneCommandIsNamed() throws {
        let blank = try fixture.write("{}", to: "blank.json")
        // The second, as the image's environment has it.
        for (path, environment) in [(nil, [:]), (nil, ["BRAMLEY_SERVER_HOST": "0.0.0.0"]), (blank, [:])] {
            guard case .failure(let none) = load(path, system: blank, environment) else {
                return #expect(Bool(false))
            }
            #expect(none.problems.count == 1 && none.problems[0].fault == "has no settings yet.")
            #expect(none.problems[0].remedy.hasPrefix("Write one with sudo bramley init,"))
        }
        // Once there is one, what is missing is named.
        let environment = ["BRAMLEY_PUBLIC_URL": "https://id.example.com"]
        guard case .failure(let some) = load(system: blank, environment) else { return #expect(Bool(false)) }
        #expect(some.problems.count > 3 && some.problems.allSatisfy { $0.severity == .error })
    }

    @Test func missingConfigurationNamesEveryLocation() throws {
        let missing = fixture.directory.path + "/none.json"
        guard case .failure(let none) = load(system: missing) else { return #expect(Bool(false)) }
        let first = none.problems[0]
        #expect(first.source == "config.json" && first.fault.contains(missing))
        #expect(first.remedy.contains("--config") && first.remedy.contains("BRAMLEY_CONFIG"))
        #expect(first.remedy.hasPrefix("Write one with bramley init,") && none.problems.count == 1)
        // One that was named and is not there is an error, whatever else there is.
        guard case .failure(let named) = load(system: missing, ["BRAMLEY_CONFIG": missing]) else {
            return #expect(Bool(false))
        }
        #expect(named.problems.map(\.source) == [missing] && named.problems[0].severity == .error)
    }

    @Test func aNearMissOfTheVariableIsNamed() throws {
        let problems = try ConfigurationFixture().problems(environment: ["BRAMLEY_CONFG": "x"])
        #expect(problems.contains { $0.remedy == "Did you mean BRAMLEY_CONFIG?" })
    }

    @Test("A database command needs no other file")
    func commandsNeedNoOtherFile() throws {
        _ = try fixture.write("no key", to: "AuthKey.p8")
        let text = try fixture.configuration([
            "apple": ["privateKeyFile": "AuthKey.p8", "nextKeyID": "AAAAAAAAAA", "nextPrivateKeyFile": "gone.p8"],
            "server": ["certificateFile": "gone.pem", "privateKeyFile": "gone.key", "trustedProxies": ["127.0.0.1"]],
            "forwardAuth": ["rulesFile": "gone.json"], "pages": ["directory": "gone"],
            "webhooks": ["url": ["https://hooks.example.com/"], "secretFile": "gone"],
        ])
        let path = try fixture.write(text, to: "config.json")
        #expect(throws: ConfigurationFailure.self) { try ConfigurationLoader.load(ConfigurationInput(path: path)) }
        let database = try ConfigurationLoader.loadDatabase(ConfigurationInput(path: path))
        #expect(database.storage.directory == fixture.directory.path + "/data")
        #expect(
            database.checkScope.team.rawValue == "A1B2C3D4E5"
                && database.checkScope.clients.map(\.rawValue) == ["com.example.web", "com.example.app"]
                && database.options.store.origin == .real)
        // What it does need is still judged, and unknown names are.
        for bad in [["apple": ["teamID": "x"]], ["storage": ["directory": ""]], ["storag": "x"]] as [[String: Any]] {
            let path = try fixture.write(fixture.configuration(bad), to: "config.json")
            #expect(throws: ConfigurationFailure.self, "\(bad)") {
                try ConfigurationLoader.loadDatabase(ConfigurationInput(path: path))
            }
        }
    }

    @Test("The partial configuration agrees with the whole one about the database")
    func partAndWhole() throws {
        let path = try fixture.write(
            fixture.configuration([
                "apple": ["bundleIDs": ["com.example.app"], "onAccountDeleted": "disable"],
                "sessions": ["lifetime": 1000, "idleTimeout": 900], "retention": ["events": 3_601],
                "assertion": ["audience": "https://api.example.com"],
            ]), to: "config.json")
        let input = ConfigurationInput(path: path)
        let (whole, part) = try (
            ConfigurationLoader.load(input).configuration.database, ConfigurationLoader.loadDatabase(input)
        )
        #expect(whole.options.sessionLimits == part.options.sessionLimits)
        #expect(whole.options.onAccountDeleted == part.options.onAccountDeleted)
        #expect(String(describing: whole.options.retention) == String(describing: part.options.retention))
        #expect(whole.checkScope == part.checkScope)
        #expect(!whole.audiences.isEmpty && whole.audiences == part.audiences)
    }
}
