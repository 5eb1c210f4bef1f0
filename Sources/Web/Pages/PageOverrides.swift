import Public

/// A problem with a file of the pages, described so that its author can fix it.
package struct PageProblem: Hashable, Sendable {
    /// Below the directory: `templates/login.mustache`.
    package var path: String
    /// The rest of a sentence that begins with the path.
    package var fault: String
    /// What to write instead, as a sentence.
    package var remedy: String

    package init(path: String, fault: String, remedy: String) {
        self.path = path
        self.fault = fault
        self.remedy = remedy
    }
}

/// The operator's own files that replace embedded ones: which are allowed, and their form.
package enum PageOverrides {
    /// A larger page file is a mistake; so is a larger number of languages.
    package static let maximumBytes = 1_048_576
    package static let maximumLanguages = 64
    /// The folders that contain files.
    package static let folders = ["assets", "strings", "templates"]

    /// The language of a strings file: `strings/nl.json` → `nl`.
    package static func language(of path: String) -> String? {
        guard path.hasPrefix("strings/"), path.hasSuffix(".json") else { return nil }
        let tag = String(path.dropFirst(8).dropLast(5))
        return PageLanguages.isCanonical(tag) ? tag : nil
    }

    /// Why no file may have this path; nil when it may.
    package static func fault(inPath path: String) -> PageProblem? {
        if EmbeddedFiles.content(of: path) != nil || language(of: path) != nil { return nil }
        if path.hasPrefix("strings/") {
            return PageProblem(
                path: path, fault: "is not named after a language.",
                remedy: "Name it as nl.json or pt-BR.json, or remove it.")
        }
        return PageProblem(
            path: path, fault: "replaces nothing: there is no page file of that name.",
            remedy: "Rename or remove it; `bramley pages export DIR` writes every file there is.")
    }

    /// Every problem with the content of these files, by path.
    package static func problems(in files: [String: [UInt8]]) -> [PageProblem] {
        var problems: [PageProblem] = []
        for (path, bytes) in files.sorted(by: { $0.key < $1.key }) {
            guard String(validating: bytes, as: UTF8.self) != nil else {
                problems.append(PageProblem(path: path, fault: "is not UTF-8.", remedy: "Save it as UTF-8."))
                continue
            }
            if path.hasPrefix("strings/") { problems += StringsFile.problems(in: bytes, path: path) }
        }
        return problems + Self.problems(of: PageFiles(overrides: good(files, problems)))
    }

    /// The files without problems, to check the rest: embedded ones replace others; a language keeps its place.
    package static func good(_ files: [String: [UInt8]], _ problems: [PageProblem]) -> [String: [UInt8]] {
        var good = files
        for path in problems.map(\.path) { good[path] = language(of: path) == nil ? nil : Array("{}".utf8) }
        return good
    }
}

// Compares texts with those of `en.json`, which is complete by definition.
extension StringsFile {
    static func problems(in bytes: [UInt8], path: String) -> [PageProblem] {
        do throws(PagesError) {
            let own = try StringsFile(lenient: bytes, path: path)
            let unreadable = own.faults.map {
                PageProblem(path: path, fault: "cannot be read: \($0).", remedy: remedy)
            }
            return unreadable
                + own.texts.sorted { $0.key < $1.key }.compactMap { key, text in
                    problem(key, text, path: path)
                }
        } catch {
            let fault = if case .strings(_, let fault) = error { fault } else { error.description }
            return [PageProblem(path: path, fault: "cannot be read: \(fault).", remedy: remedy)]
        }
    }

    private static let english =
        (try? StringsFile(EmbeddedFiles.content(of: "strings/en.json") ?? [], path: "strings/en.json"))?.texts ?? [:]

    /// Every name that a text uses as a placeholder.
    static let placeholders: Set<String> = english.values.reduce(into: []) {
        $0.formUnion(Strings.placeholders(in: $1))
    }

    private static let remedy = "Write one JSON object of texts, as `bramley pages export DIR` writes strings/en.json."

    private static func problem(_ key: String, _ text: String, path: String) -> PageProblem? {
        guard let model = english[key] else {
            return PageProblem(
                path: path, fault: "has the text \"\(key)\", which no page shows.",
                remedy: "Remove it; strings/en.json has every key.")
        }
        // An empty text removes the line, with its placeholders.
        if text.isEmpty { return nil }
        let (wanted, found) = (Strings.placeholders(in: model), Strings.placeholders(in: text))
        if let name = found.subtracting(wanted).min() {
            return PageProblem(
                path: path, fault: "names {\(name)} in \"\(key)\", which has no such value.",
                remedy: wanted.isEmpty
                    ? "Remove it." : "Write \(wanted.sorted().map { "{\($0)}" }.joined(separator: " and ")).")
        }
        if let name = wanted.subtracting(found).min() {
            return PageProblem(
                path: path, fault: "lacks {\(name)} in \"\(key)\".", remedy: "Write {\(name)} where the value belongs.")
        }
        return nil
    }
}

// Compares templates with each other.
extension PageOverrides {
    private static func problems(of files: PageFiles) -> [PageProblem] {
        var problems: [PageProblem] = []
        var uses: [String: [String]] = [:]
        do throws(PagesError) {
            for name in files.templates {
                let path = "templates/\(name).mustache"
                let text = try files.text(path)
                do {
                    let template = try Template(text)
                    uses[name] = template.templates
                    problems += self.problems(in: template, path: path, templates: files.templates)
                } catch {
                    problems.append(
                        PageProblem(
                            path: path, fault: "cannot be read: \(error).",
                            remedy: "docs/operate/pages.md shows the tags."))
                }
            }
        } catch {
            problems.append(PageProblem(path: "", fault: error.description, remedy: "Report this."))
        }
        // A template that includes itself would never end.
        for name in uses.keys.sorted() where reaches(name, from: name, uses) {
            problems.append(
                PageProblem(
                    path: "templates/\(name).mustache", fault: "includes itself, directly or through others.",
                    remedy: "Remove one of the tags {{> or {{< in between."))
        }
        return problems
    }

    private static func problems(in template: Template, path: String, templates: [String]) -> [PageProblem] {
        template.tags.filter { $0.kind == .template && !templates.contains($0.name) }.map { tag in
            PageProblem(
                path: path, fault: "includes \"\(tag.name)\" in line \(tag.line), which does not exist.",
                remedy: "Write one of \(templates.joined(separator: ", ")).")
        }
    }

    private static func reaches(_ goal: String, from start: String, _ uses: [String: [String]]) -> Bool {
        var seen: Set<String> = []
        var waiting = uses[start] ?? []
        while let name = waiting.popLast() {
            if name == goal { return true }
            if seen.insert(name).inserted { waiting += uses[name] ?? [] }
        }
        return false
    }
}
