import ArgumentParser
import Coding
import Sockets

struct InitCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Create a configuration and print the values for Apple's portal.",
        discussion: """
            Asks for missing values if standard input is a terminal. Any other configuration key may be given as a \
            flag, such as --server-port 8081; see docs/reference/configuration.md.
            """)

    @Option(
        name: [.customLong("output"), .customLong("config")],
        help: ArgumentHelp(
            "The file to write. config.schema.json is written next to it. (default: \(ConfigurationLoader.systemPath) "
                + "if it is \"{}\", as the Debian package installs it, else \(ConfigurationLoader.defaultPath))",
            valueName: "file"))
    var output: String?

    @Flag(help: "Replace existing files.")
    var force = false

    @Flag(help: "Do not prompt; missing values are errors.")
    var nonInteractive = false

    @Option(name: .of("publicURL"), help: "The public address, such as https://id.example.com.")
    var publicURL: String?

    @Option(
        name: .of("apple.servicesID"),
        help: ArgumentHelp("The Services ID, such as com.example.web.", valueName: "id"))
    var servicesID: String?

    @Option(
        name: .of("apple.teamID"),
        help: ArgumentHelp("The ten-character Team ID.", valueName: "id"))
    var teamID: String?

    @Option(
        name: .of("apple.privateKeyFile"),
        help: ArgumentHelp("The .p8 file of the Sign in with Apple key.", valueName: "file"))
    var privateKeyFile: String?

    @Option(
        name: .of("apple.keyID"),
        help: ArgumentHelp("The ten-character Key ID. (default: from the file name)", valueName: "id"))
    var keyID: String?

    @Option(
        name: .of("apple.bundleIDs"),
        help: ArgumentHelp("Bundle IDs of your apps, comma-separated.", valueName: "ids"))
    var bundleIDs: String?

    @Option(
        name: .of("apple.scopes"),
        help: ArgumentHelp("What to request: name,email, one of them, or \"\" for neither.", valueName: "scopes")
    )
    var scopes: String?

    @Option(
        name: .of("access.signUp"),
        help: ArgumentHelp("Who may sign up: open, approval or closed.", valueName: "word"))
    var signUp: String?

    @Option(name: .of("site.name"), help: ArgumentHelp("The site's name on the pages.", valueName: "name"))
    var siteName: String?

    @Option(
        name: .of("server.certificateFile"),
        help: ArgumentHelp("The certificate chain, if no proxy terminates TLS.", valueName: "file"))
    var certificateFile: String?

    @Option(
        name: .of("server.privateKeyFile"),
        help: ArgumentHelp("The certificate's private key.", valueName: "file"))
    var certificateKeyFile: String?

    @Option(
        name: .of("server.trustedProxies"),
        help: ArgumentHelp("Addresses of your reverse proxies, comma-separated.", valueName: "addresses"))
    var trustedProxies: String?

    @Option(
        name: .of("sessions.cookieDomain"),
        help: ArgumentHelp("A parent domain whose hosts share the session cookie.", valueName: "domain"))
    var cookieDomain: String?

    @Option(
        name: .of("login.allowedReturnOrigins"),
        help: ArgumentHelp("Other origins to return to after sign-in, comma-separated.", valueName: "origins"))
    var returnOrigins: String?

    @Argument(parsing: .allUnrecognized, help: ArgumentHelp("Any other key as a flag.", valueName: "--key value"))
    var keys: [String] = []

    func perform() async throws {
        let lines: [String]
        do throws(CommandFailure) {
            lines = try setUp()
        } catch {
            Self.write(Self.fitted(error.description, to: .error) + "\n")
            throw ExitCode(1)
        }
        try CommandOutput.line(Self.fitted(lines.joined(separator: "\n"), to: .output))
    }

    /// As wide as the terminal, or 80 columns when it does not report its width; unchanged for a file or a pipe.
    private static func fitted(_ text: String, to stream: StandardStream) -> String {
        stream.isTerminal ? TerminalText.wrapped(text.replacing("`", with: ""), to: stream.columns ?? 80) : text
    }

    /// To standard error, so that standard output contains only the result.
    static func write(_ text: String) {
        StandardError().write([UInt8](text.utf8))
    }

    /// - Returns: what to print when everything is written.
    private func setUp() throws(CommandFailure) -> [String] {
        let target = ConfigurationOutput(path: output ?? ConfigurationOutput.defaultPath, replacesFiles: force)
        try target.check()
        var draft = draft
        if target.isOfPackage, let key = ConfigurationTable.byName["storage.directory"], !draft.gives(key) {
            draft[key.name] = Self.packageData
        }
        if !nonInteractive, StandardStream.input.isTerminal {
            // Report invalid flags before asking anything.
            try refuse(draft.problems.filter { $0.severity == .error && $0.source != nil })
            try complete(&draft)
        } else {
            draft["apple.keyID"] = draft["apple.keyID"] ?? draft.keyIDOfFile
        }
        try refuse(draft.problems.filter { $0.severity == .error })
        var copied: String?
        if target.isOfPackage, let file = draft["apple.privateKeyFile"] {
            copied = try target.copyKey(file)
            draft["apple.privateKeyFile"] = copied ?? file
        }
        return try write(draft.document(at: target.path), to: target, copied: copied)
    }

    /// The one place that the service may write.
    private static let packageData = "/var/lib/bramley/data"

    private func write(
        _ document: JSONObject, to target: ConfigurationOutput, copied: String?
    ) throws(CommandFailure) -> [String] {
        // Load the same bytes again, by the rules of `check`.
        let loaded: LoadedConfiguration
        do throws(ConfigurationFailure) {
            loaded = try ConfigurationLoader.load(
                ConfigurationInput(path: target.path, content: Array(JSONLayout.text(.object(document)).utf8)))
        } catch {
            throw CommandFailure(error.description)
        }
        try target.write(document)
        var lines = [
            target.isOfPackage
                ? "Wrote \(target.path) and, for editors, \(target.schemaPath)."
                : "Wrote \(target.path), which only its owner can read, and \(target.schemaPath) for editors."
        ]
        if let copied { lines.append("Copied the key to \(copied): delete the file you gave, or keep it safe.") }
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
        throw CommandFailure(ConfigurationFailure(problems: named).description)
    }

    /// The values of the flags.
    private var draft: ConfigurationDraft {
        var draft = ConfigurationDraft(others: keys)
        for question in SetupQuestion.all { draft[question.key.name] = self[keyPath: question.option] }
        return draft
    }
}

extension NameSpecification {
    /// The short flag of a question, and the key's own.
    fileprivate static func of(_ key: String) -> NameSpecification {
        guard let question = SetupQuestion.all.first(where: { $0.key.name == key }) else { return .long }
        let flags = question.flag == question.key.flagName ? [question.flag] : [question.flag, question.key.flagName]
        return NameSpecification(flags.map { .customLong(String($0.dropFirst(2))) })
    }
}
