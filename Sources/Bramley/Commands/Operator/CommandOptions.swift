internal import Accounts
internal import ArgumentParser
internal import Coding
internal import FoundationEssentials
internal import Sockets

protocol InputOptions: ParsableArguments {
    var input: ConfigurationInput { get }
}

struct OperatorOptions: InputOptions {
    @Option(help: ArgumentHelp(ConfigurationLoader.pathHelp, valueName: "file")) var config: String?

    /// Only `serve` and `check` accept single keys as flags: here an argument without a name is an id.
    var input: ConfigurationInput {
        ConfigurationInput(
            path: config, environment: ProcessInfo.processInfo.environment, simulatedApple: .reported)
    }
}

struct ConfigurationOptions: ParsableArguments {
    @Option(help: ArgumentHelp(ConfigurationLoader.pathHelp, valueName: "file")) var config: String?

    @Argument(
        parsing: .allUnrecognized,
        help: ArgumentHelp(
            "Any configuration key as a flag, such as --server-port 8081. See docs/reference/configuration.md.",
            valueName: "--key value"))
    var keys: [String] = []

    func input(_ simulatedApple: SimulatedApple) -> ConfigurationInput {
        ConfigurationInput(
            path: config, environment: ProcessInfo.processInfo.environment, flags: keys,
            simulatedApple: simulatedApple)
    }
}

struct CommandOptions: InputOptions {
    @OptionGroup private var database: OperatorOptions
    @Flag(help: "Print JSON, for scripts.") var json = false

    var input: ConfigurationInput { database.input }

    func show(_ text: @autoclosure () -> String, _ members: @autoclosure () -> [FieldValue.Member]) throws {
        if json { try CommandOutput.json { $0.write(members()) } } else { try CommandOutput.line(text()) }
    }

    func show<Item>(_ text: @autoclosure () -> String, _ item: Item, _ fields: [Field<Item>]) throws {
        try show(text(), fields.map { ($0.name, $0.value(item)) })
    }
}

extension StandardStream {
    /// One line of a person; nil at the end of the input, or when the task is cancelled first, as by a signal. On a
    /// machine with one processor, the task that waits for signals needs this one's thread.
    func readAnswer() async -> String? {
        while !hasInput(within: 100) {
            await Task.yield()
            if Task.isCancelled { return nil }
        }
        return readLine()
    }
}

struct ConfirmationOptions: ParsableArguments {
    @Flag(help: "Do not ask for confirmation.") var yes = false

    /// - Parameter id: of the one affected thing; typing it counts as a yes.
    func confirm(_ question: String, id: String? = nil) async throws(CommandFailure) {
        if yes { return }
        guard StandardStream.input.isTerminal else {
            throw .usage("\(question) Not a terminal; pass --yes to confirm. Nothing was done.")
        }
        let words = id == nil ? "yes" : "yes, or the id,"
        StandardError().write(Array("\(TerminalText.safe(question))\nType \(words) to continue: ".utf8))
        let answer = await StandardStream.input.readAnswer()
        guard !Task.isCancelled else {
            StandardError().write([UInt8(ascii: "\n")])
            throw CommandFailure("Interrupted. Nothing was done.")
        }
        guard Self.agrees(answer ?? "", id: id) else { throw CommandFailure("Nothing was done.") }
    }

    static func agrees(_ answer: String, id: String?) -> Bool {
        let word = PastedText.trimmed(answer)
        return word.isExactly("yes") || !word.isEmpty && id?.isExactly(word) == true
    }
}
