package struct PageRendering: Sendable {
    /// `login (signed out)`
    package var name: String
    package var template: String
    package var locale: String
    package var html: String
}

// Renders every page in every configured language with `PageSamples`, and checks the result: `bramley check`.
extension WebConfiguration {
    package func pageRenderings() throws(PagesError) -> [PageRendering] {
        let pages = try Pages(configuration: self)
        return locales.flatMap { tag in
            let locale = PageLocale(tag)
            let samples = PageSamples.all(locale: locale, strings: pages.strings(locale), configuration: self)
            return samples.map { sample in
                let bytes =
                    sample.login.map { pages.login(locale: locale, $0) }
                    ?? pages.render(sample.template, locale: locale, sample.values)
                return PageRendering(
                    name: sample.name, template: sample.template, locale: tag,
                    html: String(decoding: bytes, as: UTF8.self))
            }
        }
    }

    /// Templates that are parts of others, and one of those, whose values they get.
    package static let templateParts = ["apple_head": "login", "apple_button": "login", "operator_cell": "operator"]

    /// Every problem with the templates and their results.
    package func pageProblems() -> [PageProblem] {
        var configuration = self
        var problems: [PageProblem] = []
        while true {
            do throws(PagesError) {
                return problems + (try configuration.foundProblems())
            } catch {
                problems.append(
                    PageProblem(
                        path: "", fault: error.description, remedy: "docs/operate/pages.md says what may be there."))
                // The rest is checked with the embedded file instead.
                guard let path = error.path, configuration.pageOverrides.removeValue(forKey: path) != nil else {
                    return problems
                }
            }
        }
    }

    private func foundProblems() throws(PagesError) -> [PageProblem] {
        let names = try problemsOfNames()
        var seen: Set<String> = []
        let rendered = try pageRenderings().flatMap { rendering in
            // A template's problem appears in every language, and with every sample: report it once.
            rendering.faults().filter { seen.insert("\(rendering.template) \($0.fault)").inserted }.map {
                PageProblem(
                    path: "templates/\(rendering.template).mustache",
                    fault: "makes a page that \($0.fault): \(rendering.name), in \(rendering.locale).",
                    remedy: $0.remedy)
            }
        }
        return names + rendered
    }

    /// The names a template may use, with and without their sections; also for the reference.
    package func variables(ofTemplate template: String) throws(PagesError) -> Set<String> {
        names(of: template, PageLocale(locales.first ?? "en"), try Pages(configuration: self))
    }

    private func names(of template: String, _ locale: PageLocale, _ pages: Pages) -> Set<String> {
        let template = Self.templateParts[template] ?? template
        var names: Set<String> = []
        pages.base(locale).collectNames(into: &names)
        for sample in PageSamples.all(locale: locale, strings: pages.strings(locale), configuration: self) {
            // A notice is rendered separately, and inserted into the login page.
            let own = sample.login == nil ? sample.template : "notice"
            if own == template { sample.values.collectNames(into: &names) }
        }
        if template == "login" {
            LoginPage.values(locale: locale.tag, configuration: self).collectNames(into: &names)
        }
        return names
    }

    private func problemsOfNames() throws(PagesError) -> [PageProblem] {
        let files = PageFiles(overrides: pageOverrides)
        let pages = try Pages(configuration: self)
        let locale = PageLocale(locales.first ?? "en")
        var problems: [PageProblem] = []
        for template in files.templates {
            let path = "templates/\(template).mustache"
            let known = Set(names(of: template, locale, pages).flatMap(Self.suffixes) + ["."])
            for tag in pages.tags(ofTemplate: template) where tag.kind == .value && !known.contains(tag.name) {
                problems.append(
                    PageProblem(
                        path: path, fault: "names \"\(tag.name)\" in line \(tag.line), which it is not given.",
                        remedy: "The comment in the built-in template lists what it is given: bramley pages export."))
            }
        }
        return problems
    }

    /// `user.name` and `name`: inside a section of `user`, both are valid.
    private static func suffixes(_ name: String) -> Set<String> {
        let parts = name.split(separator: ".")
        return Set(parts.indices.map { parts[$0...].joined(separator: ".") })
    }
}

extension PageRendering {
    /// Problems with the page, each as the rest of a sentence about it, and what to do.
    fileprivate func faults() -> [(fault: String, remedy: String)] {
        let bytes = Array(html.utf8)
        let hasButton = template == "login" || template == "connect"
        var faults: [(fault: String, remedy: String)] = []
        // By bytes: comparing characters would take most of the time of `bramley check`.
        func contains(_ text: String) -> Bool {
            let text = Array(text.utf8)
            return bytes.indices.contains { bytes[$0] == text[0] && bytes[$0...].starts(with: text) }
        }
        func expect(_ isGood: Bool, _ fault: String, _ remedy: String) {
            if !isGood { faults.append((fault, remedy)) }
        }
        expect(contains("<h1"), "has no heading", "Give it one <h1>.")
        // The placeholders that are filled per request; those of the site are filled at start.
        if let name = Strings.placeholders(in: html).intersection(StringsFile.placeholders).min() {
            expect(
                false, "shows {\(name)}",
                "Show the finished text instead, such as logout.lead for t.logout.lead; "
                    + "the comment in the built-in template has them.")
        }
        expect(!contains("<b>\"Bobby\""), "shows markup from a name", "Report this.")
        expect(!contains("\u{E000}"), "shows an unfilled placeholder", "Report this.")
        expect(
            RefusedMarkup.tags(in: bytes).allSatisfy { tag in
                tag.name != "script"
                    || tag.attributes.contains { $0.name == "nonce" && $0.value == PageSamples.scriptNonce }
            },
            "has a script that browsers refuse",
            "Write nonce=\"{{page.nonce}}\" into the tag; pages that are given no page.nonce take no script.")
        for (text, remedy) in RefusedMarkup.all(in: html, allowsStyle: hasButton) {
            expect(false, "has \(text), which browsers refuse", remedy)
        }
        expect(
            !hasButton || contains(PageSamples.state) || contains("/login/apple?")
                || contains(PageSamples.otherAccount),
            "has no way to sign in", "Keep the link to {{links.apple}}?{{attempt.query}}.")
        return faults
    }
}

extension PageValue {
    /// The dotted names of everything a template can show; list elements without the list's name.
    func collectNames(_ prefix: String = "", into names: inout Set<String>) {
        switch self {
        case .object(let members):
            if !prefix.isEmpty { names.insert(prefix) }
            for (name, value) in members {
                value.collectNames(prefix.isEmpty ? name : "\(prefix).\(name)", into: &names)
            }
        case .list(let elements):
            names.insert(prefix)
            for element in elements { element.collectNames("", into: &names) }
        case .text, .html, .flag: names.insert(prefix)
        }
    }
}
