internal import Accounts
internal import ArgumentParser
internal import Coding
internal import FoundationEssentials
internal import Sockets

/// The options that say where a command's configuration is.
protocol InputOptions: ParsableArguments {
    /// These options with this process's environment.
    var input: ConfigurationInput { get }
}

/// Of every command that uses the database.
struct OperatorOptions: InputOptions {
    @Option(help: ArgumentHelp(ConfigurationLoader.pathHelp, valueName: "file"))
    var config: String?

    @Flag(help: "Accept a simulated Apple although publicURL is a real site, as for serve.")
    var allowSimulatedApple = false

    /// Only `serve` and `check` accept single keys as flags: here an argument without a name is an id.
    var input: ConfigurationInput {
        ConfigurationInput(
            path: config, environment: ProcessInfo.processInfo.environment, flags: [],
            allowsSimulatedApple: allowSimulatedApple)
    }
}

/// The options that `serve` and `check` share.
struct ConfigurationOptions: InputOptions {
    @Option(help: ArgumentHelp(ConfigurationLoader.pathHelp, valueName: "file"))
    var config: String?

    @Flag(
        help: """
            Accept an endpoint, issuer or script that is not Apple's although publicURL is a real site. For tests \
            only: whoever runs that endpoint can sign in as anyone, and every page says so.
            """)
    var allowSimulatedApple = false

    @Argument(
        parsing: .allUnrecognized,
        help: ArgumentHelp(
            "Any configuration key as a flag, such as --server-port 8081. See docs/reference/configuration.md.",
            valueName: "--key value"))
    var keys: [String] = []

    var input: ConfigurationInput {
        ConfigurationInput(
            path: config, environment: ProcessInfo.processInfo.environment, flags: keys,
            allowsSimulatedApple: allowSimulatedApple)
    }
}

/// `OperatorOptions`, and how the command shows its result.
struct CommandOptions: InputOptions {
    @OptionGroup private var database: OperatorOptions

    @Flag(help: "Print JSON, for scripts.")
    var json = false

    var input: ConfigurationInput { database.input }

    /// Text for a person, an object for a script.
    func show(_ text: @autoclosure () -> String, _ members: @autoclosure () -> [FieldValue.Member]) throws {
        if json { try CommandOutput.json { $0.write(members()) } } else { try CommandOutput.line(text()) }
    }

    /// The same of one thing.
    func show<Item>(_ text: @autoclosure () -> String, _ item: Item, _ fields: [Field<Item>]) throws {
        try show(text(), fields.map { ($0.name, $0.value(item)) })
    }
}

/// Asks before an action that cannot be undone.
struct ConfirmationOptions: ParsableArguments {
    /// Milliseconds between two checks for a signal instead of an answer.
    private static let look: Int32 = 100

    @Flag(help: "Do not ask for confirmation.")
    var yes = false

    /// Returns when the operator agrees.
    /// - Parameters:
    ///   - question: what will happen, as a complete sentence.
    ///   - id: of the one affected thing; typing it counts as a yes.
    /// - Throws: when the operator does not agree, or standard input is not a terminal.
    func confirm(_ question: String, id: String? = nil) throws(CommandFailure) {
        if yes { return }
        guard StandardStream.input.isTerminal else {
            throw .usage("\(question) Not a terminal: pass --yes to confirm. Nothing was done.")
        }
        let words = id == nil ? "yes" : "yes, or the id,"
        let prompt = "\(TerminalText.safe(question))\nType \(words) to go on: "
        StandardError().write(Array(prompt.utf8))
        while !StandardStream.input.hasSomething(within: Self.look) {
            guard Task.isCancelled else { continue }
            StandardError().write([UInt8(ascii: "\n")])
            throw CommandFailure("Interrupted. Nothing was done.")
        }
        let answer = StandardStream.input.readLine() ?? ""
        guard Self.agrees(answer, id: id) else { throw CommandFailure("Nothing was done.") }
    }

    /// Whether an answer is a yes: the word or the id, ignoring surrounding blanks.
    static func agrees(_ answer: String, id: String?) -> Bool {
        let word = PastedText.trimmed(answer)
        return word.isExactly("yes") || !word.isEmpty && id?.isExactly(word) == true
    }
}
