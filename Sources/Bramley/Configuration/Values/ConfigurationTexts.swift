import Coding

/// The keys that the environment and the flags set, and their texts, checked against the table.
struct ConfigurationTexts {
    let problems: ProblemList
    /// By the spelling that swift-configuration's environment provider uses (`APPLE_SERVICES_ID`).
    private(set) var values: [String: String] = [:]
    private(set) var sources: [String: ConfigurationSource] = [:]
    /// Keys that were given and refused, or meant by a refused name: they are not missing.
    private(set) var refused: Set<String> = []

    init(problems: ProblemList) {
        self.problems = problems
    }

    /// Reads variables that begin with `BRAMLEY_`; a name that is not a key is a problem, unless Kubernetes wrote it.
    mutating func read(environment: [String: String]) {
        let byName = Dictionary(
            ConfigurationTable.keys.map { ($0.environmentName, $0) }, uniquingKeysWith: { first, _ in first })
        for (name, value) in environment.sorted(by: { $0.key < $1.key })
        where name.hasPrefix("BRAMLEY_") && !ConfigurationLoader.otherVariables.contains(name)
            && !Self.isServiceLink(name, value)
        {
            guard let key = byName[name] else {
                let nearest = ConfigurationTable.nearest(
                    to: name, among: byName.keys.sorted() + ConfigurationLoader.otherVariables.sorted())
                if let meant = nearest.flatMap({ byName[$0] }) { refused.insert(meant.name) }
                problems.add(
                    ConfigurationProblem(
                        key: name, source: "environment", fault: "is not a configuration key.",
                        remedy: nearest.map { "Did you mean \($0)?" }
                            ?? "Unset it; docs/configuration.md lists every name."))
                continue
            }
            set(key, to: value, from: .environment(name))
        }
    }

    /// Whether Kubernetes wrote it about a Service whose name begins with `bramley`, for every container of the
    /// namespace: https://kubernetes.io/docs/tutorials/services/connect-applications-service/#environment-variables
    private static func isServiceLink(_ name: String, _ value: String) -> Bool {
        if name.hasSuffix("_SERVICE_HOST") || name.contains(/_SERVICE_PORT(_[A-Z0-9_]+)?$/) { return true }
        if name.contains(/_PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/) { return true }
        // `BRAMLEY_SERVER_PORT` is a key as well, but no port is written so.
        return name.hasSuffix("_PORT") && value.contains(/^(tcp|udp|sctp):\/\//)
    }

    /// Reads `--server-port 8081` and `--server-port=8081`. Anything else is a problem.
    mutating func read(flags arguments: [String]) {
        let byName = Dictionary(
            ConfigurationTable.keys.map { ($0.flagName, $0) }, uniquingKeysWith: { first, _ in first })
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let key = byName[parts[0]] else {
                refuseUnknown(parts[0], among: byName.keys.sorted())
                if parts.count == 1, parts[0].hasPrefix("--"), let next = rest.first, !next.hasPrefix("--") {
                    rest.removeFirst()
                }
                continue
            }
            guard let value = parts.count == 2 ? parts[1] : rest.popFirst() else {
                problems.add(
                    ConfigurationProblem(
                        key: key.name, source: key.flagName, fault: "has no value.",
                        remedy: "Write it after the flag; \(key.type.expectation) is expected."))
                continue
            }
            if sources[key.name] != nil {
                problems.add(
                    ConfigurationProblem(
                        key: key.name, source: key.flagName, fault: "is given twice.", remedy: "Give it once."))
            }
            set(key, to: value, from: .flag(key.flagName))
        }
    }

    private func refuseUnknown(_ name: String, among names: [String]) {
        let nearest = ConfigurationTable.nearest(
            to: name, among: names + ["--config", "--allow-simulated-apple", "--help"])
        problems.add(
            ConfigurationProblem(
                key: name, source: "command line", fault: "is not a flag.",
                remedy: nearest.map { "Did you mean \($0)?" } ?? "Remove it; docs/configuration.md lists every flag."))
    }

    /// A list as it stands in the file, `["a", "b"]` or `[]`, with commas alone.
    private static func plainList(_ text: String) -> String {
        let bytes = Array(PastedText.trimmed(text).utf8)
        guard bytes.first == UInt8(ascii: "["), let value = try? JSONReader.parse(bytes),
            let entries = value.arrayValue?.map(\.stringValue), !entries.contains(where: { $0?.contains(",") ?? true })
        else { return text }
        return entries.compactMap(\.self).joined(separator: ",")
    }

    private mutating func set(_ key: ConfigurationKey, to value: String, from source: ConfigurationSource) {
        guard KeyAdmission(problems: problems).admits(key, from: source) else {
            refused.insert(key.name)
            return
        }
        // Flags come through a shell, which has taken the quotes.
        let text = source.isEnvironment ? PastedText.value(value) : value
        values[key.shoutedName] = key.type == .list ? Self.plainList(text) : text
        sources[key.name] = source
    }
}
