import ArgumentParser
import Coding
import Sockets

struct InitCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Create a configuration and print the values for Apple's portal.",
        discussion: """
            Asks for missing values if standard input is a terminal. Any other configuration key may be given as a \
            flag, such as --server-port 8081; see docs/reference/configuration.md. With --rehearse, apple-simulator \
            stands in for Apple: see docs/start/getting-started.md.
            """)

    @Option(
        name: [.customLong("output"), .customLong("config")],
        help: ArgumentHelp(
            "The file to write. config.schema.json is written next to it. (default: \(ConfigurationLoader.systemPath) "
                + "if it says nothing about Apple yet, as installed by the Debian package, else "
                + "\(ConfigurationLoader.defaultPath))",
            valueName: "file"))
    var output: String?

    @Flag(help: "Set up a rehearsal with the simulated Apple instead of Apple.") var rehearse = false

    @Option(
        help: ArgumentHelp(
            "The simulator's address, for browsers and the server; implies --rehearse. (default: "
                + "\(Rehearsal.simulator))",
            valueName: "url"))
    var simulator: String?

    @Flag(help: "End the rehearsal: delete its people, sessions and keys, and keep the rest of the configuration.")
    var leaveRehearsal = false

    @OptionGroup var confirmation: ConfirmationOptions
    @Flag(help: "Replace existing files.") var force = false
    @Flag(help: "Do not prompt; missing values are errors.") var nonInteractive = false
    @Option("publicURL", "public-url", "The public address, such as https://id.example.com.") var publicURL: String?
    @Option("apple.servicesID", "id", "The Services ID, such as com.example.web.") var servicesID: String?
    @Option("apple.teamID", "id", "The ten-character Team ID.") var teamID: String?
    @Option("apple.privateKeyFile", "file", "The .p8 file of the Sign in with Apple key.") var privateKeyFile: String?
    @Option("apple.keyID", "id", "The ten-character Key ID. (default: from the file name)") var keyID: String?
    @Option("apple.bundleIDs", "ids", "Bundle IDs of your apps, comma-separated.") var bundleIDs: String?

    @Option("apple.scopes", "scopes", "What to request: name,email, one of them, or none.")
    var scopes: String?

    @Option("access.signUp", "word", "Who may sign up: open, approval or closed.") var signUp: String?
    @Option("site.name", "name", "The site's name on the pages.") var siteName: String?

    @Option("server.certificateFile", "file", "The certificate chain, if no proxy terminates TLS.")
    var certificateFile: String?

    @Option("server.privateKeyFile", "file", "The certificate's private key.") var certificateKeyFile: String?

    @Option("server.trustedProxies", "addresses", "Addresses of your reverse proxies, comma-separated.")
    var trustedProxies: String?

    @Option("sessions.cookieDomain", "domain", "A parent domain whose hosts share the session cookie.")
    var cookieDomain: String?

    @Option("login.allowedReturnOrigins", "origins", "Other origins to return to after sign-in, comma-separated.")
    var returnOrigins: String?

    @Argument(parsing: .allUnrecognized, help: ArgumentHelp("Any other key as a flag.", valueName: "--key value"))
    var keys: [String] = []

    func validate() throws {
        let answers = SetupQuestion.all.contains { self[keyPath: $0.option] != nil }
        guard !leaveRehearsal || !(answers || rehearse || simulator != nil || force || nonInteractive || !keys.isEmpty)
        else { throw ValidationError("--leave-rehearsal takes only --output and --yes.") }
    }

    func perform() async throws {
        let lines: [String]
        do {
            lines = try await Interruption.cancelling { leaveRehearsal ? try await leave() : try await setUp() }
        } catch let error as CommandFailure where !leaveRehearsal {
            Self.write(Self.fitted(error.description, to: .error) + "\n")
            throw ExitCode(1)
        }
        try CommandOutput.line(Self.fitted(lines.joined(separator: "\n"), to: .output))
    }

    /// As wide as the terminal, or 80 columns when it does not report its width; unchanged for a file or a pipe.
    private static func fitted(_ text: String, to stream: StandardStream) -> String {
        stream.isTerminal
            ? TerminalText.wrapped(text.replacing("`", with: ""), to: stream.columns ?? 80)
            : TerminalText.wrapped(text, to: .max)
    }

    /// To standard error, so that standard output contains only the result.
    static func write(_ text: String) { StandardError().write([UInt8](text.utf8)) }

    private var rehearsal: Rehearsal? { simulator.map(Rehearsal.init) ?? (rehearse ? Rehearsal() : nil) }

    /// How to run it again: without the answers.
    var commandWords: String {
        (["bramley", "init"] + (output.map { ["--output", $0] } ?? []) + (force ? ["--force"] : [])
            + (simulator.map { ["--simulator", $0] } ?? (rehearse ? ["--rehearse"] : [])))
            .map(ConfigurationDraft.quoted).joined(separator: " ")
    }

    private func setUp() async throws(CommandFailure) -> [String] {
        let target = ConfigurationOutput(path: output ?? ConfigurationOutput.defaultPath, replacesFiles: force)
        try target.check()
        var draft = draft(for: target)
        if let rehearsal {
            // The simulator's unit knows no other.
            guard !ConfigurationTable.keys.contains(where: { $0.name.hasPrefix("apple.privateKey") && draft.gives($0) })
            else { throw CommandFailure("A rehearsal makes its own key: leave out --private-key-file.") }
            draft.preset(rehearsal.settings(target))
        }
        if target.isOfPackage, let key = ConfigurationTable.byName["storage.directory"], !draft.gives(key) {
            draft[key.name] = Self.packageData
        }
        if !nonInteractive, StandardStream.input.isTerminal {
            // Report invalid flags before asking anything.
            try refuse(errors(in: draft).filter { $0.source != nil })
            try await complete(&draft, for: target.path)
        } else {
            draft["apple.keyID"] = draft["apple.keyID"] ?? draft.keyIDOfFile
        }
        try refuse(errors(in: draft))
        try rehearsal?.makeKey(target)
        var copied: String?
        if target.isOfPackage, let file = draft["apple.privateKeyFile"] {
            copied = try target.copyKey(file)
            draft["apple.privateKeyFile"] = copied ?? file
        }
        return try write(draft.document(at: target.path), to: target, copied: copied)
    }

    /// A rehearsal's key is made last.
    private func errors(in draft: ConfigurationDraft) -> [ConfigurationProblem] {
        draft.problems.filter { problem in
            problem.severity == .error && (rehearsal == nil || problem.key != "apple.privateKeyFile")
        }
    }

    /// The one place that the service may write.
    private static let packageData = "/var/lib/bramley/data"

    private func write(
        _ document: JSONObject, to target: ConfigurationOutput, copied: String?
    ) throws(CommandFailure) -> [String] {
        // Load the same bytes again, by the rules of `check`.
        let input = ConfigurationInput(
            path: target.path, content: Array(JSONLayout.text(.object(document)).utf8),
            simulatedApple: rehearsal == nil ? .refused : .accepted)
        let loaded = try translating(try ConfigurationLoader.load(input)) { (error: ConfigurationFailure) in
            CommandFailure(error.description)
        }
        try target.write(document)
        if rehearsal == nil {
            try Rehearsal.removeOptions(target)
        } else if target.isOfPackage {
            try Rehearsal.writeOptions(of: loaded.configuration, target)
        }
        var lines = [
            target.isOfPackage
                ? "Wrote \(target.path) and, for editors, \(target.schemaPath)."
                : "Wrote \(target.path), which only its owner can read, and \(target.schemaPath) for editors."
        ]
        if let copied { lines.append("Copied the key to \(copied). Delete the original, or keep it safe.") }
        return lines + CheckCommand.summary(of: loaded) + loaded.configuration.nextSteps(target)
    }

    /// Reports missing values by the flags that set them here.
    private func refuse(_ problems: [ConfigurationProblem]) throws(CommandFailure) {
        guard !problems.isEmpty else { return }
        let named = problems.map { problem in
            guard let question = SetupQuestion.all.first(where: { $0.key.name == problem.key }) else {
                return problem
            }
            var problem = problem
            problem.source = question.flag
            return problem
        }
        let isPiped = !nonInteractive && !StandardStream.input.isTerminal
        throw CommandFailure(
            (isPiped ? "Standard input is not a terminal: nothing is asked or read. Pass the answers as flags.\n" : "")
                + ConfigurationFailure(problems: named).description)
    }

    private func draft(for target: ConfigurationOutput) -> ConfigurationDraft {
        let file = force ? nil : target.unfinished
        var draft = ConfigurationDraft(file ?? Array("{}".utf8), at: target.path, others: keys)
        for question in SetupQuestion.all {
            draft[question.key.name] = self[keyPath: question.option].flatMap {
                question.text(ofAnswer: $0, offer: nil)
            }
        }
        return draft
    }
}

extension Option where Value == String? {
    /// The answer to the question that sets `key`: by the question's short flag, or by the key's own.
    fileprivate init(_ key: String, _ valueName: String, _ help: String) {
        let question = SetupQuestion.all.first { $0.key.name == key }
        let name = question.map { question in
            NameSpecification([question.flag, question.key.flagName].map { .customLong(String($0.dropFirst(2))) })
        }
        self.init(name: name ?? .long, help: ArgumentHelp(help, valueName: valueName))
    }
}
