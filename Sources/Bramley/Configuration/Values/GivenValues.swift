import Coding

/// What the sources give, not yet read as values of keys: file, environment, flags, each stronger than those before.
struct GivenValues {
    /// A key's value in the strongest source that has one.
    struct Given {
        /// From the file, of the key's type; a text from the environment and flags.
        var value: FileValue
        var source: String
        /// Relative paths of the file begin at its folder; others where they were written, in the working directory.
        var isInFile = false
    }

    let file: String
    var problems: [ConfigurationProblem] = []
    var values: [String: Given] = [:]
    /// Keys that have a refused value, or are meant by a refused name: they are not missing.
    var refused: Set<String> = []
    /// Whether the file could be read; otherwise missing keys mean nothing.
    var isComplete = true

    /// Reads variables that begin with `BRAMLEY_`; a name that is not a key is a problem, unless Kubernetes wrote it.
    mutating func read(environment: [String: String]) {
        for (name, value) in environment.sorted(by: { $0.key < $1.key })
        where name.hasPrefix("BRAMLEY_") && !ConfigurationLoader.otherVariables.contains(name)
            && !Self.isServiceLink(name, value)
        {
            guard let key = ConfigurationTable.byEnvironmentName[name] else {
                refuseVariable(name)
                continue
            }
            set(key, to: PastedText.value(value), from: name)
        }
    }

    private mutating func refuseVariable(_ name: String) {
        let known = ConfigurationTable.byEnvironmentName
        let nearest = ConfigurationTable.nearest(
            to: name, among: known.keys.sorted() + ConfigurationLoader.otherVariables.sorted())
        if let meant = nearest.flatMap({ known[$0] }) { refused.insert(meant.name) }
        refuse(name, "environment", "is not a configuration key.", nearest, otherwise: "Unset it", lists: "name")
    }

    private mutating func refuse(
        _ name: String, _ source: String, _ fault: String, _ nearest: String?, otherwise advice: String,
        lists thing: String
    ) {
        add(
            name, from: source, fault,
            nearest.map { "Did you mean \($0)?" } ?? "\(advice); docs/reference/configuration.md lists every \(thing).")
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
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let flag = parts[0]
            guard let key = ConfigurationTable.byFlagName[flag] else {
                refuseFlag(flag)
                if parts.count == 1, flag.hasPrefix("--"), let next = rest.first, !next.hasPrefix("--") {
                    rest.removeFirst()
                }
                continue
            }
            guard let value = parts.count == 2 ? parts[1] : rest.popFirst() else {
                let expected = "Write it after the flag; \(key.type.expectation) is expected."
                add(key.name, from: flag, "has no value.", expected)
                continue
            }
            if values[key.name]?.source == flag { add(key.name, from: flag, "is given twice.", "Give it once.") }
            guard !key.isSecret else {
                let file = key.twin.flatMap { ConfigurationTable.byName[$0]?.flagName }
                add(
                    key.name, from: flag, "is a secret, and flags can be read by every user of the machine.",
                    "Use \(file ?? "the file"), or \(key.environmentName) in the environment.")
                refused.insert(key.name)
                continue
            }
            // The shell has taken the quotes.
            set(key, to: value, from: flag)
        }
    }

    private mutating func refuseFlag(_ name: String) {
        let ofServe = "--allow-simulated-apple"
        // `serve` has taken its own.
        guard name != ofServe else { return add(name, from: "command line", "is a flag of serve only.", "Remove it.") }
        let nearest = ConfigurationTable.nearest(
            to: name, among: ConfigurationTable.byFlagName.keys.sorted() + ["--config", ofServe, "--help"])
        refuse(name, "command line", "is not a flag.", nearest, otherwise: "Remove it", lists: "flag")
    }

    /// - Parameter source: nil for the file.
    mutating func add(_ key: String, from source: String? = nil, _ fault: String, _ remedy: String) {
        problems.append(ConfigurationProblem(key: key, source: source ?? file, fault: fault, remedy: remedy))
    }

    private mutating func set(_ key: ConfigurationKey, to text: String, from source: String) {
        let list = key.type == .list ? Self.fileList(text) : nil
        values[key.name] = Given(value: list ?? .text(text), source: source)
    }

    /// A list written as in the file, `["a", "b"]` or `[]`; nil for other texts.
    private static func fileList(_ text: String) -> FileValue? {
        let bytes = Array(PastedText.trimmed(text).utf8)
        guard bytes.first == UInt8(ascii: "["), let value = try? JSONReader.parse(bytes) else { return nil }
        return FileValue(value, as: .list, acceptsOneText: false)
    }
}
