/// The source of a value, for messages and precedence.
enum ConfigurationSource: Hashable {
    case flag(String)
    case environment(String)
    /// The file's name as the operator gave it.
    case file(String)

    var name: String {
        switch self {
        case .flag(let name), .environment(let name), .file(let name): name
        }
    }

    var isEnvironment: Bool {
        if case .environment = self { true } else { false }
    }

    /// Flags and the environment contain text: a list is comma-separated there, and an empty text is an empty list.
    var holdsText: Bool {
        if case .file = self { false } else { true }
    }
}

/// Which keys may be set, checked in one place for all three sources.
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
