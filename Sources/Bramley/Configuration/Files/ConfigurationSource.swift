/// Where values come from, for messages and for precedence.
enum ConfigurationSource: Hashable {
    case flag(String)
    case environment(String)
    /// The name of the file as the operator gave it.
    case file(String)

    var name: String {
        switch self {
        case .flag(let name), .environment(let name), .file(let name): name
        }
    }

    /// Flags and the environment hold text: a list is comma-separated there, and an empty text is an empty list.
    var holdsText: Bool {
        if case .file = self { false } else { true }
    }
}

/// Names that may be used, checked one way for all three sources.
struct KeyAdmission {
    let problems: ProblemList

    /// Whether `key` may be set there.
    func admits(_ key: ConfigurationKey, from source: ConfigurationSource) -> Bool {
        if key.isSecret, case .flag = source {
            let twin = key.twin.flatMap { ConfigurationTable.byName[$0] }
            problems.add(
                ConfigurationProblem(
                    key: key.name, source: source.name,
                    fault: "is a secret, and flags can be read by every user of the machine.",
                    remedy: "Use \(twin?.flagName ?? "the file"), or \(key.environmentName) in the environment."))
            return false
        }
        return true
    }
}
