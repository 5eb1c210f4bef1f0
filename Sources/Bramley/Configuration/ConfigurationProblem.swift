internal import Logging

/// A problem with the configuration, described so that the reader can fix it at once.
package struct ConfigurationProblem: Hashable, Sendable {
    package enum Severity: String, Hashable, Sendable {
        /// The server does not start.
        case error
        /// It starts, and reports this.
        case warning
    }

    package var severity = Severity.error
    /// The key's dotted name, or the unknown name as written. Empty for the whole configuration.
    package var key: String
    /// The source of the value: a file's name, an environment variable or a flag. Nil when nothing was given.
    package var source: String?
    /// What is wrong. Never contains the value of a secret key.
    package var fault: String
    /// What to write instead.
    package var remedy: String

    /// `error: apple.teamID (config.json): has 3 characters … Write …`, control characters escaped.
    package var description: String {
        let place = source.map { key.isEmpty ? "\($0): " : " (\($0)): " } ?? (key.isEmpty ? "" : ": ")
        return LogEscaping.escaped("\(severity.rawValue): \(key)\(place)\(fault) \(remedy)")
    }
}

/// What is wrong with a key's value, a file or a line of one, as the end of a sentence about it, and what to write
/// instead. Names members of a line, never their values.
package struct InputFlaw: Error, Hashable, Sendable {
    package let fault: String
    /// Empty where only the caller knows.
    package let remedy: String

    package init(_ fault: String, _ remedy: String = "") {
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

extension [ConfigurationProblem] {
    var holdErrors: Bool { contains { $0.severity == .error } }

    /// Problems of the whole first, then in the order of the table, unknown names in between.
    var ordered: [ConfigurationProblem] {
        var ranks: [String: Int] = [:]
        for (rank, key) in ConfigurationTable.keys.enumerated() { ranks[key.name] = rank }
        func rank(_ problem: ConfigurationProblem) -> Int { problem.key.isEmpty ? -2 : ranks[problem.key] ?? -1 }
        return enumerated().sorted { (rank($0.element), $0.offset) < (rank($1.element), $1.offset) }.map(\.element)
    }
}

extension Logger {
    /// - Parameter detail: a warning about the configuration that is in use.
    func configurationWarning(_ detail: String) {
        warning("configuration", metadata: ["detail": .string(detail)])
    }
}

extension String {
    /// A value in quotation marks for a message, at most 240 characters, as paths may have.
    var quoted: String {
        count > 240 ? "\"\(prefix(237))...\"" : "\"\(self)\""
    }
}
