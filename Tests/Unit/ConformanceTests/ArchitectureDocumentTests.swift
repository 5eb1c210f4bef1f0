import Foundation
import Testing

/// What the documents say, held against the repository they describe.
enum DocumentRules {
    // MARK: Links

    private struct Link {
        var path: String
        var target: String
    }

    private static func links(in repository: Repository) -> [Link] {
        repository.documents.flatMap { path in
            withoutFences(repository.files[path] ?? "").matches(of: /(?:\]\(|src=")([^)\s"]+)[)"]/)
                .map { Link(path: path, target: String($0.1)) }
        }
    }

    /// Links to files and headings of this repository that are not there.
    static func brokenLinks(_ repository: Repository) -> [String] {
        links(in: repository).filter { link in
            guard !link.target.contains("://"), !link.target.hasPrefix("mailto:") else { return false }
            let parts = link.target.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
            let path = parts[0].isEmpty ? link.path : resolve(String(parts[0]), from: link.path)
            guard let path, repository.holds(path) else { return true }
            guard parts.count == 2 else { return false }
            return !headings(of: repository.files[path] ?? "").contains(String(parts[1]))
        }.map { "\($0.path): \($0.target)" }
    }

    /// Nil when it leads out of the repository.
    private static func resolve(_ target: String, from path: String) -> String? {
        var parts = path.split(separator: "/").dropLast().map(String.init)
        for part in target.split(separator: "/") {
            switch part {
            case ".": continue
            case "..":
                guard parts.popLast() != nil else { return nil }
            default: parts.append(String(part))
            }
        }
        return parts.joined(separator: "/")
    }

    /// The anchors that a page's headings get: lower case, spaces as hyphens, other punctuation gone.
    private static func headings(of text: String) -> Set<String> {
        Set(
            withoutFences(text).split(separator: "\n").filter { $0.hasPrefix("#") }.map { line in
                let title = line.drop { $0 == "#" }.trimmingCharacters(in: .whitespaces).lowercased()
                return title.filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_" }
                    .replacing(" ", with: "-")
            })
    }

    /// Paths that a document names in a code span and that are not there.
    static func missingPaths(_ repository: Repository) -> [String] {
        repository.documents.flatMap { path in
            spans(repository.files[path] ?? "").filter { span in
                ["Sources/", "Tests/", "Public/", "docs/", "scripts/"].contains { span.hasPrefix($0) }
                    && !span.contains(where: { "*…{} ".contains($0) }) && !repository.holds(span)
            }.map { "\(path): \($0)" }
        }
    }

    // MARK: Configuration keys

    /// The keys of docs/reference/configuration.md, which the program writes and BramleyTests compare with it.
    static func keys(_ repository: Repository) -> Set<String> {
        let table = repository.files["docs/reference/configuration.md"] ?? ""
        return Set(
            table.split(separator: "\n").compactMap { $0.firstMatch(of: /^- `([A-Za-z.]+)`/) }.map { String($0.1) })
    }

    static func unknownKeys(_ repository: Repository, keys: Set<String>) -> [String] {
        let groups = Set(keys.compactMap { $0.split(separator: ".").first.map(String.init) }).subtracting(["publicURL"])
        // The one variable that is not a key: it names the file.
        let shouted = Set(keys.map { "BRAMLEY_" + shout($0) }).union(["BRAMLEY_CONFIG", "BRAMLEY_MOVE_TO"])
        return repository.documents.filter { $0 != "docs/reference/configuration.md" }.flatMap { path -> [String] in
            let text = repository.files[path] ?? ""
            let named = spans(text).filter { span in
                guard span.wholeMatch(of: /[A-Za-z]+(\.[A-Za-z]+)+/) != nil, let dot = span.firstIndex(of: ".") else {
                    return false
                }
                // `access` begins keys, an event and two types of audit lines.
                return groups.contains(String(span[..<dot])) && !span.hasSuffix(".json")
                    && !["access.given", "access.ended"].contains(span)
            }
            let members = fences(text).filter { $0.language == "json" }.flatMap { configurationKeys($0.text) }
            let variables = text.matches(of: /BRAMLEY_[A-Z_]*[A-Z]/).map { String($0.0) }
            return (Set(named + members).subtracting(keys).sorted() + Set(variables).subtracting(shouted).sorted())
                .map { "\(path): \($0)" }
        }
    }

    /// `apple.servicesID` → `APPLE_SERVICES_ID`
    private static func shout(_ key: String) -> String {
        var result = ""
        var previous: Character = "."
        for character in key {
            if previous.isLowercase && character.isUppercase { result.append("_") }
            result.append(character == "." ? "_" : Character(character.uppercased()))
            previous = character
        }
        return result
    }

    /// The keys of a configuration that a document shows; none when it is some other JSON.
    private static func configurationKeys(_ text: String) -> [String] {
        guard let object = try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any],
            object["publicURL"] != nil || object["apple"] != nil
        else { return [] }
        func flatten(_ object: [String: Any], _ prefix: String) -> [String] {
            object.flatMap { name, value in
                if let inner = value as? [String: Any] { return flatten(inner, prefix + name + ".") }
                return [prefix + name]
            }
        }
        // The member for editors, which is not a key.
        return flatten(object, "").filter { $0 != "$schema" }
    }

    // MARK: Commands

    /// `make` targets and `bramley` commands in shell blocks and code spans that do not exist.
    static func unknownCommands(_ repository: Repository) -> [String] {
        let makefile = repository.files["Makefile"] ?? ""
        let targets = Set(
            makefile.split(separator: "\n").compactMap { $0.firstMatch(of: /^([a-z-]+):/) }.map { String($0.1) })
        var commands: Set<String> = ["--version", "--help", "help"]
        for path in repository.sources where path.hasPrefix("Sources/Bramley/Commands/") {
            for match in (repository.files[path] ?? "").matches(of: /commandName: "([a-z-]+)"/) {
                commands.insert(String(match.1))
            }
        }
        return repository.documents.flatMap { path -> [String] in
            let text = repository.files[path] ?? ""
            let lines = fences(text).filter { $0.language == "sh" }.flatMap {
                $0.text.split(separator: "\n").map(String.init)
            }
            return (lines + spans(text)).compactMap { line in
                if let match = line.firstMatch(of: /^make ([a-z-]+)/), !targets.contains(String(match.1)) {
                    return match.0
                }
                if let match = line.firstMatch(of: /^bramley ([a-z-]+)/), !commands.contains(String(match.1)) {
                    return match.0
                }
                return nil
            }.map { "\(path): \($0)" }
        }
    }

    // MARK: Codes and routes

    /// The values of an enumeration of texts.
    static func codes(in text: String) -> [String] {
        text.matches(of: /case (\w+)(?: = "([a-z_-]+)")?\n/).map { String($0.2 ?? $0.1) }
    }

    /// What the lists below a heading begin with in back-ticks.
    static func listed(in text: String, below heading: String) -> Set<String> {
        guard let begin = text.range(of: "\n" + heading + "\n") else { return [] }
        let rest = text[begin.upperBound...]
        let section = rest.range(of: "\n## ").map { rest[..<$0.lowerBound] } ?? rest
        return Set(
            section.split(separator: "\n").compactMap { $0.firstMatch(of: /^- `([^`]+)`/) }.map { String($0.1) })
    }

    /// `GET /login` for every route of the sources.
    static func routes(_ repository: Repository) -> Set<String> {
        var found: Set<String> = []
        for path in repository.sources where path.hasPrefix("Sources/Web/") {
            let text = repository.files[path] ?? ""
            for match in text.matches(of: /(?:Entry|router\.add)\(\s*\.(\w+), "([^"]+)"/) {
                found.insert("\(match.1.uppercased()) \(match.2)")
            }
        }
        return found
    }

    // MARK: Machines

    /// Paths of somebody's machine, in any file.
    static func machinePaths(_ repository: Repository) -> [String] {
        // Put together here, so that this file does not hold what it looks for.
        let folders = ["wo" + "rk", "ho" + "me", "ro" + "ot", "Us" + "ers"].joined(separator: "|")
        let pattern = Pattern("(?:^|[^\\w.*-])/(?:\(folders))/[\\w.-]+")
        return repository.paths.filter { pattern.isIn(repository.files[$0] ?? "") }
    }

    // MARK: Markdown

    struct Fence: Sendable {
        var language: String
        var text: String
    }

    static func fences(_ text: String) -> [Fence] {
        text.matches(of: /(?m)^```([a-z]*)[^\n]*\n([\s\S]*?)^```/).map {
            Fence(language: String($0.1), text: String($0.2))
        }
    }

    private static func withoutFences(_ text: String) -> String {
        text.replacing(/(?m)^```[\s\S]*?^```/, with: "")
    }

    static func spans(_ text: String) -> [String] {
        withoutFences(text).matches(of: /`([^`\n]+)`/).map { String($0.1) }
    }
}

@Suite struct ArchitectureDocumentTests {
    @Test func readmeNamesTheTwoCommands() throws {
        let readme = try #require(Repository.real.files["README.md"])
        let makefile = try #require(Repository.real.files["Makefile"])
        for command in ["run", "test"] {
            #expect(readme.contains("\n```sh\nmake \(command)\n```\n"))
            #expect(makefile.contains("\n\(command):"))
        }
    }

    @Test func everyLinkResolves() {
        #expect(DocumentRules.brokenLinks(.real) == [])
        #expect(DocumentRules.missingPaths(.real) == [])
    }

    @Test func everyConfigurationKeyIsKnown() {
        let keys = DocumentRules.keys(.real)
        #expect(keys.count > 50)
        #expect(DocumentRules.unknownKeys(.real, keys: keys) == [])
    }

    @Test func everyCommandExists() {
        #expect(DocumentRules.unknownCommands(.real) == [])
    }

    @Test func theAPIListsEveryRoute() throws {
        let page = try #require(Repository.real.files["docs/reference/api.md"])
        let routes = DocumentRules.routes(.real)
        #expect(routes.count > 10)
        #expect(DocumentRules.listed(in: page, below: "## Routes") == routes)
    }

    @Test func noFileContainsAMachinesPath() {
        #expect(DocumentRules.machinePaths(.real) == [])
    }

    // MARK: Each rule finds what is planted

    private func planted(_ text: String) -> Repository {
        Repository(planted: [
            "docs/a.md": text, "docs/b.md": "# One heading, `two`\n", "Makefile": "run: ## x\n\techo\n",
            "Sources/Bramley/Commands/A.swift": "commandName: \"check\"",
        ])
    }

    @Test(
        "A planted broken link is found",
        arguments: [
            "[a](missing.md)", "[a](../../outside.md)", "[a](b.md#no-heading)", "[a](#nothing)",
            "![a](images/none.png)",
        ])
    func plantedBrokenLinksAreFound(text: String) {
        #expect(DocumentRules.brokenLinks(planted(text)).count == 1)
    }

    @Test(
        "Good links pass",
        arguments: [
            "[a](b.md)", "[a](b.md#one-heading-two)", "[a](../Makefile)", "[a](https://example.com/)", "# H\n[a](#h)",
            "```\n[a](missing.md)\n```",
        ])
    func goodLinksPass(text: String) {
        #expect(DocumentRules.brokenLinks(planted(text)) == [])
    }

    @Test(
        "A planted path, key or command is found",
        arguments: [
            "`Sources/None/A.swift`", "`server.prot`", "`BRAMLEY_SERVER_PROT`",
            "```json\n{\"publicURL\": \"a\", \"x\": 1}\n```",
            "`make nothing`", "```sh\nbramley nothing\n```",
        ])
    func plantedNamesAreFound(text: String) {
        let repository = planted(text)
        let keys: Set = ["publicURL", "server.port", "server.limits.body"]
        let found =
            DocumentRules.missingPaths(repository) + DocumentRules.unknownKeys(repository, keys: keys)
            + DocumentRules.unknownCommands(repository)
        #expect(found.count == 1)
    }

    @Test(
        "Known names pass",
        arguments: [
            "`server.port` `publicURL` `server.limits.body` BRAMLEY_SERVER_LIMITS_BODY BRAMLEY_PUBLIC_URL",
            "```json\n{\"publicURL\": \"a\", \"server\": {\"port\": 1}}\n```", "`make run`, `bramley check --config x`",
            "```json\n{\"user\": {\"id\": 1}}\n```",
        ])
    func knownNamesPass(text: String) {
        let repository = planted(text)
        #expect(DocumentRules.unknownKeys(repository, keys: ["publicURL", "server.port", "server.limits.body"]) == [])
        #expect(DocumentRules.unknownCommands(repository) == [])
    }

    @Test func plantedMachinePathsAreFound() {
        #expect(DocumentRules.machinePaths(planted("see /ho" + "me/anna/x")) == ["docs/a.md"])
        #expect(DocumentRules.machinePaths(planted("file:///wo" + "rk/x")) == ["docs/a.md"])
        #expect(DocumentRules.machinePaths(planted("https://example.com/ho" + "me/x, /etc/bramley")) == [])
    }

    @Test func codesAndColumnsAreRead() {
        #expect(DocumentRules.codes(in: "    case one\n    case two = \"a_second\"\n") == ["one", "a_second"])
        #expect(DocumentRules.listed(in: "x\n## H\n- `one`: a\n\n## I\n- `two`", below: "## H") == ["one"])
    }
}
