internal import Web

/// Renders every page as `serve` would, with invented people, to find what only a finished page shows.
package enum PagesReport {
    /// Loads a configuration and checks its pages.
    /// - Throws: every problem with either, including a missing sealing key.
    package static func load(_ input: ConfigurationInput) throws(ConfigurationFailure) -> LoadedConfiguration {
        try ConfigurationLoader.load(input) { problems($0) + (SealingKeyFile.problem($0).map { [$0] } ?? []) }
    }

    /// Every problem with the pages, in the form of configuration problems.
    private static func problems(_ configuration: Configuration) -> [ConfigurationProblem] {
        PageCheck.problems(configuration.web).map { problem in
            ConfigurationProblem(key: "pages.directory", fault: problem.sentence, remedy: problem.remedy)
        }
    }
}
