import Web

extension ConfigurationBuilder {
    func pages() -> Configuration.Pages? {
        let directory = values.text("pages.directory").map { Self.withoutSlash($0) }
        let wanted = values.list("pages.locales")
        guard directory != nil || !values.isGiven("pages.directory") else { return nil }
        var files: [String: [UInt8]] = [:]
        var areGood = true
        if let directory {
            guard let found = pageFiles(directory) else { return nil }
            (files, areGood) = found
        }
        let own = files.keys.compactMap(PageOverrides.language(of:))
        guard let wanted, areLanguages(wanted, own: own) else { return nil }
        // A built-in one may lie there unused, as it was exported.
        for language in own.sorted()
        where areGood && !wanted.contains(language) && !PageLanguages.builtIn.contains(language) {
            values.warn(
                "pages.directory", "\("strings/\(language).json".quoted) is used by nobody.",
                "Name \(language.quoted) in pages.locales, or remove the file.")
        }
        return Configuration.Pages(directory: directory, locales: wanted, files: files)
    }

    /// Those that can be read, whatever is wrong with others: `bramley check` looks at what they make all the same.
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
            values.fail("pages.directory", problem.sentence, problem.remedy)
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
                "pages.locales", "names \(tag.quoted), which there are no texts of.",
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
