/// What `bramley check` says, as findings.
enum ConfigurationExamination {
    static func diagnoses(of problems: [ConfigurationProblem]) -> [Diagnosis] {
        problems.map { problem in
            let about = problem.key.isEmpty ? problem.source : problem.key
            let isError = problem.severity == .error
            let finding: Finding
            if problem.key.hasPrefix("apple."), problem.key.contains("rivateKey") {
                finding = isError ? .appleKeyUnusable : .configurationDoubtful
            } else if problem.key == "apple.keyID" || problem.key == "apple.nextKeyID", !isError {
                finding = .appleKeyIDDoubtful
            } else {
                finding = isError ? .configurationRefused : .configurationDoubtful
            }
            return isError
                ? .wrong(finding, about: about, problem.fault, next: problem.remedy)
                : .unsure(finding, about: about, problem.fault, next: problem.remedy)
        }
    }
}
