import Coding

/// The answers given to `bramley init` so far, as flags of the loader, whose rules and messages judge each answer.
struct ConfigurationDraft {
    private var texts: [String: String] = [:]
    /// Flags that are not a question of `init`: any other key, or a mistake that the loader reports.
    private let others: [String]
    /// Flags of a rehearsal, for keys that nothing else gives.
    private var presets: [String] = []
    /// The unfinished file that the answers complete.
    private var base: ConfigurationInput
    private let inFile: [String: FileValue]

    /// - Parameter file: what is in the file at `path`.
    init(_ file: [UInt8], at path: String, others: [String] = []) {
        base = ConfigurationInput(path: path, content: file)
        self.others = others
        inFile = ConfigurationLoader.judge(base).values
    }

    subscript(key: String) -> String? {
        get { texts[key] }
        set { texts[key] = newValue }
    }

    /// Whether a flag or the file gives a value.
    func gives(_ key: ConfigurationKey) -> Bool {
        texts[key.name] != nil || inFile[key.name] != nil
            || (others + presets).contains { $0 == key.flagName || $0.hasPrefix("\(key.flagName)=") }
    }

    /// From here on, a simulated Apple with these values is accepted.
    mutating func preset(_ values: [(name: String, text: String)]) {
        base.simulatedApple = .accepted
        for (name, text) in values {
            guard let key = ConfigurationTable.byName[name], !gives(key) else { continue }
            presets.append("\(key.flagName)=\(text)")
        }
    }

    private var input: ConfigurationInput {
        var input = base
        input.flags =
            ConfigurationTable.keys.compactMap { key in texts[key.name].map { "\(key.flagName)=\($0)" } } + others
            + presets
        return input
    }

    /// Every problem with what was given; missing values are reported without a source.
    var problems: [ConfigurationProblem] { ConfigurationLoader.judge(input).problems }

    /// What will be written, except secrets, by key.
    var summary: [(name: String, text: String)] {
        let values = ConfigurationLoader.judge(input).values
        return ConfigurationTable.keys.filter { !$0.isSecret }.compactMap { key in
            values[key.name].map { value in
                let list = value.list.map { $0.isEmpty ? "none" : $0.joined(separator: ", ") }
                return (key.name, list ?? value.text ?? JSONLayout.text(value.json))
            }
        }
    }

    /// The answers as flags, for a shell; empty without any.
    var commandLine: String {
        let answers = SetupQuestion.all.compactMap { question in
            texts[question.key.name].map { [question.flag, $0] }
        }
        return (answers.flatMap(\.self) + others).map(Self.quoted).joined(separator: " ")
    }

    /// For a shell.
    static func quoted(_ word: String) -> String {
        word.wholeMatch(of: /[A-Za-z0-9@%+=:,.\/_-]+/) == nil
            ? "'" + word.replacing("'", with: #"'\''"#) + "'" : word
    }

    /// The same about one key, without mentioning flags.
    func problems(of key: ConfigurationKey) -> [ConfigurationProblem] {
        problems.filter { $0.key == key.name }.map { problem in
            var problem = problem
            problem.source = nil
            return problem
        }
    }

    /// Answers name files relative to the working directory; the file names them relative to its own folder.
    func document(at path: String) -> JSONObject {
        let folder = ConfigurationFolder(of: path)
        let values = ConfigurationLoader.judge(input).values
        var root: JSONObject = [ConfigurationTable.schemaMember: .string(ConfigurationSchema.fileName)]
        for key in ConfigurationTable.keys {
            guard let given = values[key.name] else { continue }
            let value = key.isPath ? given.mapTexts(folder.relative) : given
            Self.insert(value.json, at: key.components[...], into: &root)
        }
        return root
    }

    private static func insert(_ value: JSONValue, at path: ArraySlice<String>, into object: inout JSONObject) {
        guard let name = path.first else { return }
        guard path.count > 1 else {
            object[name] = value
            return
        }
        var group = object[name]?.objectValue ?? JSONObject()
        insert(value, at: path.dropFirst(), into: &group)
        object[name] = .object(group)
    }

    private func text(_ name: String) -> String? { texts[name] ?? inFile[name]?.text }

    private var address: WebAddress? { try? WebAddress.parse(text("publicURL") ?? "") }
    var host: String? { address?.host }
    var isSecure: Bool { address?.scheme == "https" }
    /// Whether the host has a parent that could share a cookie with it.
    var hasParentDomain: Bool {
        guard isSecure, let address, !address.isIPAddress, let dot = address.host.firstIndex(of: ".") else {
            return false
        }
        return !WebAddress.isPublicSuffix(String(address.host[address.host.index(after: dot)...]))
    }
    var hasCertificate: Bool { text("server.certificateFile")?.isEmpty == false }

    var keyIDOfFile: String? { text("apple.privateKeyFile").flatMap { AppleKeyFile.keyID(inNameOf: $0) } }
}
