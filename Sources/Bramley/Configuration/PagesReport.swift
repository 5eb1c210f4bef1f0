internal import Web

/// Renders every page as `serve` would, with people made up for it: what only a finished page shows.
package enum PagesReport {
    /// Loads a configuration and looks at its pages.
    /// - Throws: everything wrong with either.
    package static func load(_ input: ConfigurationInput) throws(ConfigurationFailure) -> LoadedConfiguration {
        try ConfigurationLoader.load(input, further: problems)
    }

    /// Everything wrong with the pages, in the words of the configuration's other problems.
    private static func problems(_ configuration: Configuration) -> [ConfigurationProblem] {
        guard let web = configuration.web else { return [] }
        return PageCheck.problems(web).map { problem in
            ConfigurationProblem(key: "pages.directory", fault: problem.sentence, remedy: problem.remedy)
        }
    }
}
