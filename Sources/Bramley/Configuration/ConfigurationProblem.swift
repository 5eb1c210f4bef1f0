/// A problem with the configuration, described so that the reader can fix it at once.
package struct ConfigurationProblem: Error, Hashable, Sendable {
    package enum Severity: String, Hashable, Sendable {
        /// The server does not start.
        case error
        /// It starts, and reports this.
        case warning
    }

    package var severity: Severity
    /// The key's dotted name, or the unknown name as written. Empty for the whole configuration.
    package var key: String
    /// The source of the value: a file's name, an environment variable or a flag. Nil when nothing was given.
    package var source: String?
    /// What is wrong. Never contains the value of a secret key.
    package var fault: String
    /// What to write instead.
    package var remedy: String

    package init(
        _ severity: Severity = .error, key: String, source: String? = nil, fault: String, remedy: String
    ) {
        self.severity = severity
        self.key = key
        self.source = source
        self.fault = fault
        self.remedy = remedy
    }

    /// `error: apple.teamID (config.json): has 3 characters … Write …`, control characters escaped.
    package var description: String {
        let place = source.map { key.isEmpty ? "\($0): " : " (\($0)): " } ?? (key.isEmpty ? "" : ": ")
        return LogEscaping.escaped("\(severity.rawValue): \(key)\(place)\(fault) \(remedy)")
    }
}

/// What is wrong with a key's value or with a file, as the end of a sentence about it, and what to write instead.
struct KeyFlaw: Error {
    let fault: String
    /// Empty where only the caller knows.
    let remedy: String

    init(_ fault: String, _ remedy: String = "") {
        self.fault = fault
        self.remedy = remedy
    }
}

/// Every problem found; at least one is an error.
package struct ConfigurationFailure: Error, CustomStringConvertible, Sendable {
    package var problems: [ConfigurationProblem]

    package init(problems: [ConfigurationProblem]) {
        self.problems = problems
    }

    /// One problem per line, then their number.
    package var description: String {
        let errors = problems.count { $0.severity == .error }
        let lines = problems.map(\.description) + [errors == 1 ? "1 error" : "\(errors) errors"]
        return lines.joined(separator: "\n")
    }
}

/// Problems, as they are found. A class, so that all readers of one load add to one list.
final class ProblemList {
    private(set) var problems: [ConfigurationProblem] = []

    func add(_ problem: ConfigurationProblem) {
        problems.append(problem)
    }

    var holdsErrors: Bool { problems.contains { $0.severity == .error } }

    /// Problems of the whole first, then in the order of the table, unknown names in between.
    var ordered: [ConfigurationProblem] {
        var ranks: [String: Int] = [:]
        for (rank, key) in ConfigurationTable.keys.enumerated() { ranks[key.name] = rank }
        func rank(_ problem: ConfigurationProblem) -> Int { problem.key.isEmpty ? -2 : ranks[problem.key] ?? -1 }
        return problems.enumerated().sorted { (rank($0.element), $0.offset) < (rank($1.element), $1.offset) }
            .map(\.element)
    }
}

extension String {
    /// A value in quotation marks for a message, at most 240 characters, as paths may have.
    var quoted: String {
        count > 240 ? "\"\(prefix(237))...\"" : "\"\(self)\""
    }
}
