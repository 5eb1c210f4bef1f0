import FoundationEssentials
import Web

extension ConfigurationBuilder {
    func readPages(_ configuration: inout Configuration) {
        var filesAreGood = true
        if let directory = configuration.pagesDirectory {
            guard let found = pageFiles(directory) else { return }
            (configuration.web.pageOverrides, filesAreGood) = found
        }
        let locales = configuration.web.locales
        let own = configuration.web.pageOverrides.keys.compactMap(PageOverrides.language(of:))
        guard areGood("pages.directory", "pages.locales"), areLanguages(locales, own: own) else { return }
        // A built-in language may be there unused, as it was exported.
        for language in own.sorted()
        where filesAreGood && !locales.contains(language) && !PageLanguages.builtIn.contains(language) {
            warn(
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
            fail(
                "pages.directory", "\(directory.quoted) \(error.fault)",
                "Create it with `bramley pages export \(directory)`, or remove the key.")
            return nil
        }
        let problems = found.problems + PageOverrides.problems(in: found.files)
        for problem in problems { report("pages.directory", problem.sentence, problem.remedy) }
        return (PageOverrides.good(found.files, problems), problems.isEmpty)
    }

    /// `site.logoFile`: what anybody else may change is not published.
    func readLogo(_ path: String) -> SiteLogo? {
        let key = "site.logoFile"
        guard !refuseTwins(key, "site.logo"),
            let bytes = readFile(key, path, maximumBytes: SiteLogo.maximumBytes, holdsSecret: { _ in false })
        else { return nil }
        let logo = SiteLogo(bytes)
        if logo == nil {
            fail(
                key, "\(path.quoted) is neither an SVG nor a PNG picture.",
                "Export the logo as PNG, or as SVG whose first element is <svg xmlns=\"http://www.w3.org/2000/svg\">.")
        }
        return logo
    }

    private func areLanguages(_ wanted: [String], own: [String]) -> Bool {
        guard !wanted.isEmpty else {
            fail("pages.locales", "is empty.", "Name at least one language, such as [\"en\"].")
            return false
        }
        let known = PageLanguages.builtIn + own.filter { !PageLanguages.builtIn.contains($0) }.sorted()
        let unknown = wanted.filter { !known.contains($0) }
        for tag in unknown {
            let near = known.first { $0.lowercased() == tag.lowercased() }
            fail(
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

/// `pages.directory`: the operator's own page files, read at start.
private struct PageDirectory {
    private(set) var files: [String: [UInt8]] = [:]
    private(set) var problems: [PageProblem] = []

    /// Ignores names that begin with a dot: editors, version control and Kubernetes use them.
    init(_ path: String) throws(InputFlaw) {
        let root = Self.resolved(path)
        for name in try Self.names(in: root) {
            guard PageOverrides.folders.contains(name) else {
                report(
                    name, "is not one of \(PageOverrides.folders.joined(separator: ", ")).",
                    "Remove it; `bramley pages export DIR` shows what belongs where.")
                continue
            }
            readFolder(name, below: root)
        }
        let languages = files.keys.filter { $0.hasPrefix("strings/") }
        if languages.count > PageOverrides.maximumLanguages {
            report("strings", "holds \(languages.count) languages.", "Keep at most \(PageOverrides.maximumLanguages).")
        }
    }

    private mutating func report(_ path: String, _ fault: String, _ remedy: String) {
        problems.append(PageProblem(path: path, fault: fault, remedy: remedy))
    }

    private mutating func readFolder(_ folder: String, below root: String) {
        let names: [String]
        do {
            names = try Self.names(in: "\(root)/\(folder)")
        } catch {
            return report(folder, error.fault, "Make it a folder of files.")
        }
        for name in names {
            let path = "\(folder)/\(name)"
            if let problem = PageOverrides.fault(inPath: path) {
                problems.append(problem)
            } else if let bytes = read(path, below: root) {
                files[path] = bytes
            }
        }
    }

    /// The bytes of one file, or nil and a problem.
    private mutating func read(_ path: String, below root: String) -> [UInt8]? {
        let place = "\(root)/\(path)"
        // A link may lead to a neighbour, as in a mounted volume, but not outside: what is read here is published.
        guard Self.resolved(place).hasPrefix(root == "/" ? "/" : root + "/") else {
            report(path, "is a link that leads out of the directory.", "Put the file itself there.")
            return nil
        }
        do {
            let file = try GuardedFile.read(place, maximumBytes: PageOverrides.maximumBytes)
            if file.mode & 0o002 != 0 {
                report(path, "can be changed by every user of this machine.", "Run: chmod 644 \(place)")
                return nil
            }
            return file.bytes
        } catch {
            report(path, error.fault, "Make it a readable file, or remove it.")
            return nil
        }
    }

    private static func names(in directory: String) throws(InputFlaw) -> [String] {
        var isDirectory = false
        guard FileManager.default.fileExists(atPath: directory, isDirectory: &isDirectory) else {
            throw InputFlaw("does not exist.")
        }
        guard isDirectory else { throw InputFlaw("is not a directory.") }
        do {
            return try FileManager.default.contentsOfDirectory(atPath: directory).filter { !$0.hasPrefix(".") }.sorted()
        } catch {
            throw InputFlaw(GuardedFile.unreadable)
        }
    }

    private static func resolved(_ path: String) -> String { URL(filePath: path).resolvingSymlinksInPath().path }
}
