/// The problems of `bramley check`, as findings.
extension Doctor {
    /// For an invalid configuration; the last error says that the examination ends there.
    static func refusal(_ problems: [ConfigurationProblem]) -> [Diagnosis] {
        var found = diagnoses(of: problems)
        if let last = found.lastIndex(where: { $0.state == .wrong }) { found[last].detail += " " + nothingElse }
        return found
    }

    static let nothingElse = "Nothing else was examined."

    /// - Parameter isSimulated: whether a simulator replaces Apple; it sends notifications even to a server without an
    ///   app.
    static func diagnoses(of problems: [ConfigurationProblem], isSimulated: Bool = false) -> [Diagnosis] {
        problems.map { problem in
            let about = problem.key.isEmpty ? problem.source : problem.key
            let isError = problem.severity == .error
            if problem.key == "apple.bundleIDs", !isError {
                return isSimulated
                    ? .unsure(.notificationsUnlisted, about: about, problem.fault, next: problem.remedy)
                    : .wrong(.notificationsUnlisted, about: about, problem.fault, next: problem.remedy)
            }
            let finding: Finding
            if problem.key.hasPrefix("apple."), problem.key.contains("rivateKey") {
                finding = isError ? .appleKeyUnusable : .configurationDoubtful
            } else if problem.key == "apple.keyID" || problem.key == "apple.nextKeyID", !isError {
                finding = .appleKeyIDDoubtful
            } else if problem.key.hasPrefix("server.certificate") || problem.key.hasPrefix("server.privateKey"),
                !isError
            {
                finding = .certificateDoubtful
            } else {
                finding = isError ? .configurationRefused : .configurationDoubtful
            }
            return isError
                ? .wrong(finding, about: about, problem.fault, next: problem.remedy)
                : .unsure(finding, about: about, problem.fault, next: problem.remedy)
        }
    }
}
