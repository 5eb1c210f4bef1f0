internal import Web

/// Renders every page as `serve` would, with people made up for it: what only a finished page shows.
package enum PagesReport {
    /// Loads a configuration and looks at its pages.
    /// - Throws: everything wrong with either, and a sealing key that is missing.
    package static func load(_ input: ConfigurationInput) throws(ConfigurationFailure) -> LoadedConfiguration {
        try ConfigurationLoader.load(input) { problems($0) + (SealingKeyFile.problem($0).map { [$0] } ?? []) }
    }

    /// Everything wrong with the pages, in the words of the configuration's other problems.
    private static func problems(_ configuration: Configuration) -> [ConfigurationProblem] {
        PageCheck.problems(configuration.web).map { problem in
            ConfigurationProblem(key: "pages.directory", fault: problem.sentence, remedy: problem.remedy)
        }
    }
}
