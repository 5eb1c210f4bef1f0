internal import Web

/// Renders every page as `serve` would, with people made up for it: what only a finished page shows.
package enum PagesReport {
    /// - Throws: everything wrong with the pages, in the words of the configuration's other problems.
    package static func check(_ configuration: Configuration) throws(ConfigurationFailure) {
        guard let web = configuration.web else { return }
        let problems = PageCheck.problems(web).map { problem in
            ConfigurationProblem(key: "pages.directory", fault: problem.sentence, remedy: problem.remedy)
        }
        if !problems.isEmpty { throw ConfigurationFailure(problems: problems) }
    }
}
