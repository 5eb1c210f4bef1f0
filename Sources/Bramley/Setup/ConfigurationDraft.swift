import Coding

/// The answers given to `bramley init` so far, as flags of the loader, whose rules and messages judge each answer.
struct ConfigurationDraft {
    private var texts: [String: String] = [:]
    /// Flags that are not a question of `init`: any other key, or a mistake that the loader reports.
    private let others: [String]

    init(others: [String] = []) { self.others = others }

    subscript(key: String) -> String? {
        get { texts[key] }
        set { texts[key] = newValue }
    }

    /// Whether there is an answer, as a question's or as any other flag.
    func gives(_ key: ConfigurationKey) -> Bool {
        texts[key.name] != nil || others.contains { $0 == key.flagName || $0.hasPrefix("\(key.flagName)=") }
    }

    private var flags: [String] {
        ConfigurationTable.keys.compactMap { key in texts[key.name].map { "\(key.flagName)=\($0)" } } + others
    }

    /// Every problem with what was given; missing values are reported without a source.
    var problems: [ConfigurationProblem] { ConfigurationLoader.judge(flags: flags).problems }

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
        let values = ConfigurationLoader.judge(flags: flags).values
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

    private var address: WebAddress? { try? WebAddress.parse(texts["publicURL"] ?? "") }
    var host: String? { address?.host }
    var isSecure: Bool { address?.scheme == "https" }
    /// Whether the host has a parent that could share a cookie with it.
    var hasParentDomain: Bool {
        guard isSecure, let address, !address.isIPAddress, let dot = address.host.firstIndex(of: ".") else {
            return false
        }
        return !WebAddress.isPublicSuffix(String(address.host[address.host.index(after: dot)...]))
    }
    var hasCertificate: Bool { texts["server.certificateFile"]?.isEmpty == false }

    var keyIDOfFile: String? { texts["apple.privateKeyFile"].flatMap { AppleKeyFile.keyID(inNameOf: $0) } }
}
