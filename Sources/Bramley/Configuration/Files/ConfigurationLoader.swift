package import Coding
import Crypto
import Sockets

package struct ConfigurationInput: Sendable {
    /// Nil: the one that `BRAMLEY_CONFIG` names, otherwise `config.json` here, or if that does not exist the system's.
    package var path: String?
    /// The system's configuration file; a test has its own.
    package var systemPath = ConfigurationLoader.systemPath
    /// The content of a file that is not written yet.
    package var content: [UInt8]?
    package var environment: [String: String] = [:]
    /// The command line without the command's own options.
    package var flags: [String] = []
    package var simulatedApple = SimulatedApple.refused
    package var clock: any WallClock = SystemClock()
}

/// How to treat a simulated Apple where `publicURL` is a real site.
package enum SimulatedApple: Sendable {
    /// An error.
    case refused
    /// A warning: whoever only reads the configuration or the database signs nobody in.
    case reported
    /// `serve --allow-simulated-apple`, and `init --rehearse`.
    case accepted
}

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
    /// Names that begin with `BRAMLEY_` and are not keys.
    static let otherVariables: Set = [pathVariable, MoveCommand.variable]
    package static let pathHelp =
        "The configuration file. (default: \(pathVariable), else \(defaultPath), else \(systemPath))"

    /// The file that is read; it may be missing if nobody named it.
    private static func place(_ input: ConfigurationInput) -> (path: String, isDefault: Bool) {
        // An empty variable counts as unset, like others.
        let named = input.environment[pathVariable].flatMap { $0.isEmpty ? nil : $0 }
        if let path = input.path ?? named { return (path, false) }
        let isSystem = !GuardedFile.exists(defaultPath) && GuardedFile.mayExist(input.systemPath)
        return (isSystem ? input.systemPath : defaultPath, true)
    }

    package static func loadDatabase(_ input: ConfigurationInput) throws(ConfigurationFailure) -> DatabaseConfiguration
    {
        let builder = builder(input)
        let configuration = builder.database()
        guard let configuration, !builder.problems.holdErrors else { throw builder.failure }
        return configuration
    }

    /// Where a running server is asked. Everything else may be wrong by now: it was right when that server started.
    static func loadAdmin(_ input: ConfigurationInput) throws(ConfigurationFailure) -> SocketAddress {
        let builder = builder(input)
        guard let admin = builder.admin() else { throw builder.failure }
        return admin
    }

    /// - Throws: every problem found, errors and warnings, in the order of the reference.
    /// - Parameter further: finds more problems in a configuration that could be read, even if it has errors.
    package static func load(
        _ input: ConfigurationInput, further: (Configuration) -> [ConfigurationProblem] = { _ in [] }
    ) throws(ConfigurationFailure) -> LoadedConfiguration {
        let builder = builder(input)
        let configuration = builder.build()
        builder.problems += configuration.map(further) ?? []
        if let configuration, !builder.problems.holdErrors { builder.advise(on: configuration) }
        guard var configuration, !builder.problems.holdErrors else { throw builder.failure }
        let used = builder.used
        for key in ConfigurationTable.keys {
            guard let value = used[key.name] ?? key.presence.value else { continue }
            configuration.digests[key.name] = SHA256.hash(utf8: "\(value)")
        }
        configuration.settings = ConfigurationTable.keys.compactMap(builder.setting)
        return LoadedConfiguration(configuration: configuration, warnings: builder.problems.ordered)
    }

    static func builder(_ input: ConfigurationInput) -> ConfigurationBuilder {
        ConfigurationBuilder(collect(input), input)
    }

    /// Everything `bramley check` would report, and the readable values by key.
    static func judge(_ input: ConfigurationInput) -> (problems: [ConfigurationProblem], values: [String: FileValue]) {
        let builder = builder(input)
        _ = builder.build()
        return (builder.problems.ordered, builder.used)
    }

    private static func collect(_ input: ConfigurationInput) -> GivenValues {
        let place = place(input)
        var given = GivenValues(file: place.path)
        if let content = input.content {
            given.read(file: content)
        } else {
            readFile(place, systemPath: input.systemPath, into: &given)
        }
        let isBlank = given.values.isEmpty
        given.read(environment: input.environment)
        given.read(flags: input.flags)
        if input.content == nil, place.isDefault || place.path == input.systemPath, !given.problems.holdErrors, isBlank,
            // An image sets this one.
            given.values.values.allSatisfy({ $0.source == "BRAMLEY_SERVER_HOST" })
        {
            // One problem, not one for every key.
            given.isComplete = false
            let isSystem = place.path == input.systemPath
            given.add(
                "", isSystem ? "has no settings yet." : "does not exist here, and neither does \(input.systemPath).",
                "Write one with \(isSystem ? "sudo " : "")bramley init, or name one with --config FILE or \(pathVariable)."
            )
        }
        return given
    }

    private static func readFile(
        _ place: (path: String, isDefault: Bool), systemPath: String, into given: inout GivenValues
    ) {
        let path = place.path
        do {
            let content = try GuardedFile.read(path, maximumBytes: GivenValues.maximumFileBytes)
            given.read(file: content.bytes)
            let holdsSecret = given.values.keys.contains { ConfigurationTable.byName[$0]?.isSecret == true }
            if let problem = content.modeProblem(at: path, key: "", source: nil, holdsSecret: holdsSecret) {
                given.problems.append(problem)
            }
        } catch {
            // Everything may come from the environment.
            if place.isDefault, path == defaultPath, !GuardedFile.exists(path) { return }
            given.isComplete = false
            // A folder that this user may not enter hides its content.
            let fault = GuardedFile.isHidden(path) ? GuardedFile.unreadable : error.fault
            let isOthers = path == systemPath && fault == GuardedFile.unreadable
            given.add(
                "", fault,
                (isOthers ? "Run the command as the server's user (sudo -u bramley bramley …), or name" : "Name")
                    + " a readable file with --config FILE or \(pathVariable).")
        }
    }
}
