internal import Coding
internal import Logging

package struct ConfigurationProblem: Hashable, Sendable {
    package enum Severity: String, Hashable, Sendable {
        case error, warning
    }

    package var severity = Severity.error
    /// The key's dotted name, or the unknown name as written. Empty for the whole configuration.
    package var key: String
    /// The source of the value: a file's name, an environment variable or a flag. Nil when nothing was given.
    package var source: String?
    /// What is wrong. Never contains the value of a secret key.
    package var fault: String
    package var remedy: String

    /// `error: apple.teamID (config.json): has 3 characters … Write …`, control characters escaped.
    package var description: String {
        let place = source.map { key.isEmpty ? "\($0): " : " (\($0)): " } ?? (key.isEmpty ? "" : ": ")
        return LogEscaping.escaped("\(severity.rawValue): \(key)\(place)\(fault) \(remedy)")
    }
}

/// What is wrong with a key's value, a file or a line, as the end of a sentence that names no values, and the remedy.
package struct InputFlaw: Error, Hashable, Sendable {
    package let fault: String
    /// Empty where only the caller knows.
    package let remedy: String

    package init(_ fault: String, _ remedy: String = "") {
        self.fault = fault
        self.remedy = remedy
    }
}

package struct ConfigurationFailure: Error, CustomStringConvertible, Sendable {
    package var problems: [ConfigurationProblem]

    package init(problems: [ConfigurationProblem]) { self.problems = problems }

    package var description: String {
        let errors = problems.count { $0.severity == .error }
        return (problems.map(\.description) + [Quantity.count(errors, "error")]).joined(separator: "\n")
    }
}

extension [ConfigurationProblem] {
    var holdErrors: Bool { contains { $0.severity == .error } }

    /// Problems of the whole file first, then unknown names, then keys in the order of the table.
    var ordered: [ConfigurationProblem] {
        var ranks: [String: Int] = [:]
        for (rank, key) in ConfigurationTable.keys.enumerated() { ranks[key.name] = rank }
        func rank(_ problem: ConfigurationProblem) -> Int { problem.key.isEmpty ? -2 : ranks[problem.key] ?? -1 }
        return enumerated().sorted { (rank($0.element), $0.offset) < (rank($1.element), $1.offset) }.map(\.element)
    }
}

extension Logger {
    func configurationWarning(_ detail: String) { warning("configuration", metadata: ["detail": .string(detail)]) }
}

extension String {
    /// A value in quotation marks for a message, at most 240 characters, as paths may have.
    var quoted: String { count > 240 ? "\"\(prefix(237))...\"" : "\"\(self)\"" }
}
