import FoundationEssentials
package import RelyingParty

/// What one load starts from.
package struct ConfigurationInput: Sendable {
    /// The file named by `--config`, or nil for `config.json` if that exists.
    package var path: String?
    /// What stands for the file's content without being read from it: a file that is not written yet.
    package var content: [UInt8]?
    package var environment: [String: String]
    /// What stood on the command line besides the options of the command itself.
    package var flags: [String]
    /// `--allow-simulated-apple`.
    package var allowsSimulatedApple: Bool
    /// What certificates are judged by.
    package var clock: any WallClock

    package init(
        path: String? = nil, content: [UInt8]? = nil, environment: [String: String] = [:], flags: [String] = [],
        allowsSimulatedApple: Bool = false, clock: any WallClock = SystemClock()
    ) {
        self.path = path
        self.content = content
        self.environment = environment
        self.flags = flags
        self.allowsSimulatedApple = allowsSimulatedApple
        self.clock = clock
    }
}

/// A configuration that holds, and what should be said about it.
package struct LoadedConfiguration: Sendable {
    package var configuration: Configuration
    package var warnings: [ConfigurationProblem]
}

/// The one place that reads the configuration: file, environment, flags, and the key files they name.
package enum ConfigurationLoader {
    package static let defaultPath = "config.json"

    /// - Throws: every problem found, errors and warnings, in the order of the reference.
    /// - Parameter further: what else is wrong with a configuration that could be read, whatever was wrong with it.
    package static func load(
        _ input: ConfigurationInput, further: (Configuration) -> [ConfigurationProblem] = { _ in [] }
    ) throws(ConfigurationFailure) -> LoadedConfiguration {
        let problems = ProblemList()
        let values = collect(input, problems)
        let builder = ConfigurationBuilder(
            values: values, allowsSimulatedApple: input.allowsSimulatedApple, now: input.clock.now(),
            environment: input.environment)
        let configuration = builder.build()
        for problem in configuration.map(further) ?? [] { problems.add(problem) }
        let ordered = order(problems.problems)
        guard var configuration, !problems.holdsErrors else { throw ConfigurationFailure(problems: ordered) }
        // Without errors: looking at the values once more finds none either.
        configuration.snapshot = ConfigurationSnapshot(values.given)
        return LoadedConfiguration(configuration: configuration, warnings: ordered)
    }

    /// What flags alone amount to, complete or not.
    struct Judgement {
        /// Everything `bramley check` would say, missing keys included.
        let problems: [ConfigurationProblem]
        /// What could be read, by key, as a file holds it.
        let values: [String: FileValue]
    }

    static func judge(flags: [String]) -> Judgement {
        let input = ConfigurationInput(content: Array("{}".utf8), flags: flags)
        let problems = ProblemList()
        _ = ConfigurationBuilder(
            values: collect(input, problems), allowsSimulatedApple: false, now: input.clock.now(),
            environment: input.environment
        ).build()
        // Read once more with a list of problems nobody looks at: they are all in the first.
        let values = collect(input, ProblemList())
        return Judgement(problems: order(problems.problems), values: values.given)
    }

    /// The names of the keys a load asks for; a test holds them against the table.
    package static func askedKeys(_ input: ConfigurationInput) -> Set<String> {
        let values = collect(input, ProblemList())
        _ = ConfigurationBuilder(
            values: values, allowsSimulatedApple: false, now: input.clock.now(), environment: input.environment
        ).build()
        return values.asked
    }

    private static func collect(_ input: ConfigurationInput, _ problems: ProblemList) -> ConfigurationValues {
        let path = input.path ?? defaultPath
        var file = ConfigurationFile(name: path, problems: problems)
        if let content = input.content {
            file.read(content)
        } else {
            readFile(path, isDefault: input.path == nil, into: &file, problems)
        }
        var environment = ConfigurationTexts(problems: problems)
        environment.read(environment: input.environment)
        var flags = ConfigurationTexts(problems: problems)
        flags.read(flags: input.flags)
        return ConfigurationValues(flags: flags, environment: environment, file: file, problems: problems)
    }

    private static func readFile(
        _ path: String, isDefault: Bool, into file: inout ConfigurationFile, _ problems: ProblemList
    ) {
        do {
            let content = try GuardedFile.read(path, maximumBytes: ConfigurationFile.maximumBytes)
            file.read(content.bytes)
            let holdsSecret = file.values.keys.contains { ConfigurationTable.byName[$0]?.isSecret == true }
            for problem in FileModeRule.problems(of: content, at: path, key: "", source: nil, holdsSecret: holdsSecret)
            {
                problems.add(problem)
            }
        } catch {
            // Everything may come from the environment; when it does not, the missing keys are reported as well.
            if case .missing = error, isDefault {
                problems.add(
                    ConfigurationProblem(
                        .warning, key: "", source: path, fault: "does not exist here.",
                        remedy: "Write one as config.example.json shows, or name one with --config FILE."))
            } else {
                file.markUnreadable()
                problems.add(
                    ConfigurationProblem(
                        key: "", source: path, fault: error.fault, remedy: "Name a readable file with --config FILE."))
            }
        }
    }

    /// Problems of the whole first, then by the order of the table, unknown names between.
    private static func order(_ problems: [ConfigurationProblem]) -> [ConfigurationProblem] {
        var ranks: [String: Int] = [:]
        for (rank, key) in ConfigurationTable.keys.enumerated() { ranks[key.name] = rank }
        func rank(_ problem: ConfigurationProblem) -> Int { problem.key.isEmpty ? -2 : ranks[problem.key] ?? -1 }
        return problems.enumerated().sorted { (rank($0.element), $0.offset) < (rank($1.element), $1.offset) }.map(
            \.element)
    }
}

/// Who else may read a file that holds a secret.
enum FileModeRule {
    /// World-readable secrets and files others can write are refused; group-readable ones are a warning.
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
        if file.isGroupReadable {
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
