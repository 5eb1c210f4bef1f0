internal import Accounts
package import ArgumentParser
internal import Coding
internal import FoundationEssentials

/// The options of every command that uses the database.
package struct OperatorOptions: ParsableArguments {
    @Option(help: ArgumentHelp(ConfigurationLoader.pathHelp, valueName: "file"))
    package var config: String?

    @Flag(help: "Accept a simulated Apple although publicURL is a real site, as for serve.")
    package var allowSimulatedApple = false

    package init() {}

    /// These options with this process's environment. Only `serve` and `check` accept single keys as flags: here an
    /// argument without a name is an id.
    package var input: ConfigurationInput {
        ConfigurationInput(
            path: config, environment: ProcessInfo.processInfo.environment, flags: [],
            allowsSimulatedApple: allowSimulatedApple)
    }
}

/// How a command shows its result.
package struct OutputOptions: ParsableArguments {
    @Flag(help: "Print JSON, for scripts.")
    package var json = false

    package init() {}
}

extension OutputOptions {
    /// The result of a command: a line for a person, an object for a script.
    func show(_ line: @autoclosure () -> String, _ members: (name: String, value: FieldValue)...) throws {
        guard json else { return try CommandOutput.line(line()) }
        try CommandOutput.json { writer in
            writer.beginObject()
            for member in members { writer.member(member.name, member.value) }
            writer.endObject()
        }
    }

    /// The same of one thing.
    func show<Item>(_ line: @autoclosure () -> String, _ item: Item, _ fields: [Field<Item>]) throws {
        guard json else { return try CommandOutput.line(line()) }
        try CommandOutput.json { $0.write(item, fields) }
    }
}
