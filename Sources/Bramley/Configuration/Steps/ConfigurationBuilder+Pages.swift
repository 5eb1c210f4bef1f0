import Web

extension ConfigurationBuilder {
    func readPages(_ configuration: inout Configuration) {
        var areGood = true
        if let directory = configuration.pagesDirectory {
            guard let found = pageFiles(directory) else { return }
            (configuration.web.pageOverrides, areGood) = found
        }
        let locales = configuration.web.locales
        let own = configuration.web.pageOverrides.keys.compactMap(PageOverrides.language(of:))
        guard values.areGood("pages.directory", "pages.locales"), areLanguages(locales, own: own) else { return }
        // A built-in language may be there unused, as it was exported.
        for language in own.sorted()
        where areGood && !locales.contains(language) && !PageLanguages.builtIn.contains(language) {
            values.warn(
                "pages.directory", "\("strings/\(language).json".quoted) is not used.",
                "Name \(language.quoted) in pages.locales, or remove the file.")
        }
    }

    /// The readable files, whatever is wrong with others: `bramley check` renders pages with them anyway.
    private func pageFiles(_ directory: String) -> (files: [String: [UInt8]], areGood: Bool)? {
        let found: PageDirectory
        do {
            found = try PageDirectory(directory)
        } catch {
            values.fail(
                "pages.directory", "\(directory.quoted) \(error.fault)",
                "Make it with `bramley pages export \(directory)`, or remove the key.")
            return nil
        }
        let problems = found.problems + PageOverrides.problems(in: found.files)
        for problem in problems {
            values.report("pages.directory", problem.sentence, problem.remedy)
        }
        return (PageOverrides.good(found.files, problems), problems.isEmpty)
    }

    private func areLanguages(_ wanted: [String], own: [String]) -> Bool {
        guard !wanted.isEmpty else {
            values.fail("pages.locales", "is empty.", "Name at least one language, such as [\"en\"].")
            return false
        }
        let known = PageLanguages.builtIn + own.filter { !PageLanguages.builtIn.contains($0) }.sorted()
        let unknown = wanted.filter { !known.contains($0) }
        for tag in unknown {
            let near = known.first { $0.lowercased() == tag.lowercased() }
            values.fail(
                "pages.locales", "names \(tag.quoted), for which there are no texts.",
                near.map { "Write \($0.quoted)." }
                    ?? "Write some of \(known.joined(separator: ", ")), or add strings/\(tag).json to pages.directory.")
        }
        return unknown.isEmpty
    }
}

extension PageProblem {
    /// What is wrong, beginning with the file's path below the directory.
    var sentence: String { path.isEmpty ? fault : "\(path.quoted) \(fault)" }
}
