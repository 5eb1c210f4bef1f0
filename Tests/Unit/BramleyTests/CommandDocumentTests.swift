import ArgumentParser
import Bramley
import Foundation
import Testing

@Suite struct CommandDocumentTests {
    /// `bramley users list`, for every command that has no commands below it.
    private static func leaves(of command: any ParsableCommand.Type, path: [String]) -> [[String]] {
        let path = path + [command._commandName]
        let below = command.configuration.subcommands
        return below.isEmpty ? [path] : below.flatMap { leaves(of: $0, path: path) }
    }

    /// The command lines in the `sh` fences of a document, also in lists, without pipes and redirections.
    private static func examples(in text: String) -> [[String]] {
        text.matches(of: /(?m)^ *```sh\n([\s\S]*?)^ *```/).flatMap { $0.1.split(separator: "\n") }
            .map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { $0.hasPrefix("bramley ") }
            .map(words)
    }

    /// Words as a shell has them, quotation marks taken away; up to a comment, a pipe or a redirection.
    private static func words(_ line: String) -> [String] {
        var words: [String] = []
        var word: String?
        var quote: Character?
        for character in line {
            if let open = quote {
                if character == open { quote = nil } else { word?.append(character) }
            } else if character == "'" || character == "\"" {
                quote = character
                word = word ?? ""
            } else if character == " " {
                if let done = word { words.append(done) }
                word = nil
            } else if word == nil, "|>#<".contains(character) {
                return words
            } else {
                word = (word ?? "") + String(character)
            }
        }
        return words + (word.map { [$0] } ?? [])
    }

    @Test func everyCommandHasAnExample() throws {
        let examples = try ["commands", "jobs", "keys"].flatMap {
            Self.examples(in: try text(ofFile: "docs/operate/\($0).md"))
        }
        let leaves = Self.leaves(of: BramleyCommand.self, path: [])
        #expect(leaves.count > 20)
        for leaf in leaves
        where ["users", "sessions", "credentials", "notifications", "events", "api-keys", "links"].contains(leaf[1]) {
            #expect(examples.contains { $0.starts(with: leaf) }, "\(leaf.joined(separator: " ")) has no example")
        }
    }

    @Test(arguments: [
        "docs/operate/commands.md", "docs/operate/jobs.md", "docs/operate/keys.md",
        "docs/operate/audit-log.md", "docs/operate/import.md",
    ])
    func everyExampleIsUnderstood(path: String) throws {
        for example in Self.examples(in: try text(ofFile: path)) {
            #expect(throws: Never.self, "\(example.joined(separator: " "))") {
                _ = try BramleyCommand.parseAsRoot(Array(example.dropFirst()))
            }
        }
    }

    /// What looks right and is not: refused before a database is opened.
    @Test(arguments: [
        "api-keys create", "api-keys create name", "api-keys create name --scopes",
        "api-keys create name --scopes nothing",
        "api-keys create name --scopes users:read,,introspect", "api-keys create  --scopes users:read",
        "api-keys revoke brk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "api-keys revoke key_1",
        "users show", "users show usr_1", "users show --external-id 1 --apple-subject 2",
        "users list --limit 0", "users list --limit 10001", "users list --state gone", "users list --cursor ???",
        "users list --all --cursor AA", "links list --all --cursor AA", "api-keys list --scope x",
        "webhooks list --limit 0", "users approve", "users disable",
        "users delete", "users delete usr_00000000000000000000000000 usr_00000000000000000000000000",
        "users groups usr_00000000000000000000000000 --set a --add b",
        "users groups usr_00000000000000000000000000 --add a,,b",
        "users groups usr_00000000000000000000000000 --set a,a",
        "users import", "users export", "sessions revoke",
        "sessions revoke --all --user usr_00000000000000000000000000",
        "sessions revoke usr_00000000000000000000000000", "notifications show", "notifications replay",
        "notifications replay a --unknown-subjects", "notifications list --outcome lost",
        "notifications list --outcome duplicate", "events tail -n -1",
        "credentials resume now", "credentials status --accept", "events tail --type user.vanished",
        "events tail --after usr_00000000000000000000000000", "transfer import --skip-refused",
        "links list --state lost", "links retry usr_1", "links retry lnk_1",
    ])
    func unknownChecksAndFlagsAreRefused(line: String) {
        let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        #expect(throws: (any Error).self) { _ = try BramleyCommand.parseAsRoot(words) }
    }
}
