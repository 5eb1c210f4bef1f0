import Accounts
package import Coding
import FoundationEssentials
import Sockets

/// The sources of one load.
package struct ConfigurationInput: Sendable {
    /// The file named by `--config`. Nil for the one that `BRAMLEY_CONFIG` names, otherwise `config.json` in the
    /// working directory, or if that does not exist the system's.
    package var path: String?
    /// The system's configuration file; a test has its own.
    package var systemPath = ConfigurationLoader.systemPath
    /// The file's content, if it should not be read: a file that is not written yet.
    package var content: [UInt8]?
    package var environment: [String: String] = [:]
    /// The command line without the command's own options.
    package var flags: [String] = []
    /// `--allow-simulated-apple`.
    package var allowsSimulatedApple = false
    /// Determines the validity of certificates.
    package var clock: any WallClock = SystemClock()
}

/// A valid configuration, and its warnings.
package struct LoadedConfiguration: Sendable {
    package var configuration: Configuration
    package var warnings: [ConfigurationProblem]
}

/// Reads the configuration: file, environment, flags, and the key files they name. Nothing else reads it.
package enum ConfigurationLoader {
    package static let defaultPath = "config.json"
    package static let systemPath = "/etc/bramley/config.json"
    /// The environment variable that names the file; not a key.
    package static let pathVariable = "BRAMLEY_CONFIG"
    /// Those that begin with `BRAMLEY_` and are no keys.
    static let otherVariables: Set = [pathVariable, MoveCommand.variable]
    /// For `--help`.
    package static let pathHelp =
        "The configuration file. (default: \(pathVariable), else \(defaultPath), else \(systemPath))"

    /// The file that is read.
    private struct Place {
        var path: String
        /// Nobody named it, so it may be missing.
        var isDefault: Bool

        init(_ input: ConfigurationInput) {
            // An empty variable counts as unset, like others.
            let named = input.environment[pathVariable].flatMap { $0.isEmpty ? nil : $0 }
            if let path = input.path ?? named {
                self.path = path
                isDefault = false
            } else {
                let isHere = GuardedFile.exists(defaultPath)
                path = !isHere && GuardedFile.mayExist(input.systemPath) ? input.systemPath : defaultPath
                isDefault = true
            }
        }
    }

    /// What commands need that use the database; reads no files except the sealing key.
    /// - Throws: every problem found with that.
    package static func loadDatabase(_ input: ConfigurationInput) throws(ConfigurationFailure) -> DatabaseConfiguration
    {
        let problems = ProblemList()
        let builder = builder(input, problems)
        let configuration = builder.database()
        guard let configuration, !problems.holdsErrors else {
            throw ConfigurationFailure(problems: order(problems.problems))
        }
        return configuration
    }

    /// Where a running server is asked. Everything else may be wrong by now: it was right when that server started.
    /// - Throws: every problem found, if the admin listener's keys cannot be read.
    static func loadAdmin(_ input: ConfigurationInput) throws(ConfigurationFailure) -> SocketAddress {
        let problems = ProblemList()
        guard let admin = builder(input, problems).admin() else {
            throw ConfigurationFailure(problems: order(problems.problems))
        }
        return admin
    }

    /// - Throws: every problem found, errors and warnings, in the order of the reference.
    /// - Parameter further: finds more problems in a configuration that could be read, even if it has errors.
    package static func load(
        _ input: ConfigurationInput, further: (Configuration) -> [ConfigurationProblem] = { _ in [] }
    ) throws(ConfigurationFailure) -> LoadedConfiguration {
        let problems = ProblemList()
        let builder = builder(input, problems)
        let configuration = builder.build()
        for problem in configuration.map(further) ?? [] { problems.add(problem) }
        if let configuration, !problems.holdsErrors { builder.advise(on: configuration) }
        let ordered = order(problems.problems)
        guard var configuration, !problems.holdsErrors else { throw ConfigurationFailure(problems: ordered) }
        configuration.snapshot = ConfigurationSnapshot(builder.values.used)
        return LoadedConfiguration(configuration: configuration, warnings: ordered)
    }

    private static func builder(_ input: ConfigurationInput, _ problems: ProblemList) -> ConfigurationBuilder {
        ConfigurationBuilder(values: ConfigurationValues(collect(input, problems)), input: input)
    }

    /// The result of flags alone, complete or not.
    struct Judgement {
        /// Everything `bramley check` would report, including missing keys.
        let problems: [ConfigurationProblem]
        /// The readable values, by key, in the file's form.
        let values: [String: FileValue]
    }

    static func judge(flags: [String]) -> Judgement {
        let problems = ProblemList()
        let builder = builder(ConfigurationInput(content: Array("{}".utf8), flags: flags), problems)
        _ = builder.build()
        return Judgement(problems: order(problems.problems), values: builder.values.used)
    }

    /// The names of the keys that a load reads; a test compares them with the table.
    package static func askedKeys(_ input: ConfigurationInput) -> Set<String> {
        let builder = builder(input, ProblemList())
        _ = builder.build()
        return builder.values.asked
    }

    private static func collect(_ input: ConfigurationInput, _ problems: ProblemList) -> GivenValues {
        let place = Place(input)
        var given = GivenValues(file: place.path, problems: problems)
        if let content = input.content {
            given.read(file: content)
        } else {
            readFile(place, systemPath: input.systemPath, into: &given, problems)
        }
        let isBlank = given.values.isEmpty
        given.read(environment: input.environment)
        given.read(flags: input.flags)
        if input.content == nil, place.isDefault || place.path == input.systemPath, !problems.holdsErrors, isBlank,
            // An image sets this one.
            given.values.values.allSatisfy({ $0.source == "BRAMLEY_SERVER_HOST" })
        {
            // One thing is wrong, and not every key.
            given.isComplete = false
            let isSystem = place.path == input.systemPath
            problems.add(
                ConfigurationProblem(
                    key: "", source: place.path,
                    fault: isSystem
                        ? "has no settings yet." : "does not exist here, and neither does \(input.systemPath).",
                    remedy: "Write one with \(isSystem ? "sudo " : "")bramley init, or name one with --config FILE or "
                        + "\(pathVariable)."))
        }
        return given
    }

    private static func readFile(
        _ place: Place, systemPath: String, into given: inout GivenValues, _ problems: ProblemList
    ) {
        let path = place.path
        do {
            let content = try GuardedFile.read(path, maximumBytes: GivenValues.maximumFileBytes)
            given.read(file: content.bytes)
            let holdsSecret = given.values.keys.contains { ConfigurationTable.byName[$0]?.isSecret == true }
            for problem in FileModeRule.problems(of: content, at: path, key: "", source: nil, holdsSecret: holdsSecret)
            {
                problems.add(problem)
            }
        } catch {
            // Everything may come from the environment.
            if place.isDefault, path == defaultPath, !GuardedFile.exists(path) { return }
            given.isComplete = false
            // A folder that this user may not enter hides its content.
            let fault = GuardedFile.isHidden(path) ? GuardedFile.unreadable : error.fault
            let isOthers = path == systemPath && fault == GuardedFile.unreadable
            problems.add(
                ConfigurationProblem(
                    key: "", source: path, fault: fault,
                    remedy: (isOthers
                        ? "Run the command as the server's user (sudo -u bramley bramley …), or name" : "Name")
                        + " a readable file with --config FILE or \(pathVariable)."))
        }
    }

    /// Problems of the whole first, then in the order of the table, unknown names in between.
    private static func order(_ problems: [ConfigurationProblem]) -> [ConfigurationProblem] {
        var ranks: [String: Int] = [:]
        for (rank, key) in ConfigurationTable.keys.enumerated() { ranks[key.name] = rank }
        func rank(_ problem: ConfigurationProblem) -> Int { problem.key.isEmpty ? -2 : ranks[problem.key] ?? -1 }
        return problems.enumerated().sorted { (rank($0.element), $0.offset) < (rank($1.element), $1.offset) }.map(
            \.element)
    }
}

/// Who else may read a file with a secret.
enum FileModeRule {
    /// Refuses world-readable secrets and files that others can write; warns about group-readable ones.
    static func problems(
        of file: GuardedFile, at path: String, key: String, source: String?, holdsSecret: Bool
    ) -> [ConfigurationProblem] {
        let place = source ?? path
        let subject = key.isEmpty ? "" : "\(path.quoted) "
        let octal = "0" + String(file.mode & 0o777, radix: 8)
        if file.isWritableByOthers {
            return [
                ConfigurationProblem(
                    key: key, source: place, fault: "\(subject)can be changed by other users (mode \(octal)).",
                    remedy: "Run: chmod 600 \(path)")
            ]
        }
        if file.isWorldReadable {
            return [
                ConfigurationProblem(
                    holdsSecret ? .error : .warning, key: key, source: place,
                    fault: "\(subject)can be read by every user of this machine (mode \(octal)).",
                    remedy: "Run: chmod 600 \(path)")
            ]
        }
        if file.isGroupReadable, !file.isGivenToGroup {
            return [
                ConfigurationProblem(
                    .warning, key: key, source: place,
                    fault: "\(subject)can be read by its group (mode \(octal)).",
                    remedy: "Unless that is meant, run: chmod 600 \(path)")
            ]
        }
        return []
    }
}
