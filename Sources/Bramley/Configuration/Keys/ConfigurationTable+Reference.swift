/// `docs/configuration.md`, generated from the table: `bramley check --reference > docs/configuration.md`.
extension ConfigurationTable {
    package static var reference: String {
        var text = preface
        for section in sections {
            let keys = keys.filter { section.groups.contains($0.components[0]) }
            text += "\n## \(section.title)\n\n\(header)"
            for key in keys { text += row(key) }
        }
        return text
    }

    private static let preface = """
        # Configuration

        <!-- Written by `bramley check --reference`; a test compares this page with the program. -->

        Bramley reads one JSON file, the one named by `--config FILE` or by \
        `BRAMLEY_CONFIG`; else `config.json` in the working directory; else `/etc/bramley/config.json`. \
        `config.example.json` is a start. `bramley check` validates it and reports every problem at once.

        - **Precedence**: flags, then the environment, then the file.
        - **Every key has three spellings**: `{"apple": {"servicesID": "…"}}` in the file, `BRAMLEY_APPLE_SERVICES_ID` in \
        the environment, `--apple-services-id` as a flag. In the environment and in flags a list is comma-separated, and \
        nothing is the empty list; `["a", "b"]` and `[]`, as in the file, are read as well.
        - **Unknown names are errors**: in the file, among the variables that begin with `BRAMLEY_`, and on the command line. \
        What Kubernetes writes about Services whose names begin with `bramley` (`BRAMLEY_SERVICE_HOST`, \
        `BRAMLEY_PORT=tcp://…`) is ignored.
        - **What pasting adds or loses does not count**, where no other meaning is possible: blanks, line ends and a byte \
        order mark around a value or a file, quotes around a variable or a secret, the line ends of a key or certificate.
        - **Durations are seconds, sizes are bytes.** Values are texts, whole numbers, true or false, or lists of texts.
        - **Secrets** have two keys: one names a file (`apple.privateKeyFile`), the other holds the text itself \
        (`apple.privateKey`). Both at once is an error. Inline secrets are refused as flags, which other users of the \
        machine can read. A file that holds a secret is refused when everybody can read it (`chmod 600`).
        - **Editors** find the [schema](config.schema.json) of this file by its member `"$schema": "config.schema.json"`, \
        which sets nothing. `bramley init` writes both; `bramley check --schema` prints the schema. It knows names, types and \
        ranges; `bramley check` knows the rest.
        - **Relative paths** in the file begin at the file's own folder, whatever the working directory is; so does the \
        default of `storage.directory`. In the environment and in flags they begin at the working directory.
        - **The simulator can never stand in for Apple by accident**: unless `publicURL` is on localhost, 127.0.0.1, \
        `.localhost` or `.test`, the addresses under `apple` must be Apple's own. The flag `--allow-simulated-apple` alone \
        overrides that, and puts a banner on every page.

        """

    private static let header = "| Key | Value | Default | Meaning |\n|---|---|---|---|\n"

    private static let sections: [(title: String, groups: Set<String>)] = [
        ("The site", ["publicURL", "access"]),
        ("Listening", ["server"]),
        ("The operator's listener", ["admin"]),
        ("Apple", ["apple"]),
        ("Signing in", ["login", "forwardAuth"]),
        ("Apple's button", ["button"]),
        ("The pages", ["site", "pages"]),
        ("Sessions", ["sessions"]),
        ("The API", ["api"]),
        ("The operator's page", ["operator"]),
        ("Storage and keys", ["storage", "secrets"]),
        ("What is kept how long", ["retention"]),
        ("Signed assertions", ["assertion"]),
        ("Events to applications", ["webhooks"]),
        ("Log", ["log"]),
    ]

    private static func row(_ key: Key) -> String {
        "| `\(key.name)` | \(value(key)) | \(presence(key)) | \(key.meaning)\(twin(key)) |\n"
    }

    private static func value(_ key: Key) -> String {
        switch key.type {
        case .text: "text"
        case .integer(let range, let unit):
            "\(range.lowerBound)–\(range.upperBound)\(unit.isEmpty ? "" : " \(unit)")"
        case .boolean: "true, false"
        case .list:
            (key.acceptsOneText ? "text or " : "")
                + (key.entries.map { "list of \($0.map { "`\($0)`" }.joined(separator: ", "))" } ?? "list of texts")
        case .choice(let words): words.map { "`\($0)`" }.joined(separator: ", ")
        case .length(let range): "\(range.lowerBound)–\(range.upperBound) pixels, or `\"100%\"`"
        }
    }

    private static func presence(_ key: Key) -> String {
        switch key.presence {
        case .required: "**required**"
        case .requiredUnlessTwin: "**required**, this or `\(key.twin ?? "")`"
        case .optional: "none"
        case .default(.text(let text)): "`\(text)`"
        case .default(.integer(let value)): "\(value)"
        case .default(.boolean(let flag)): "\(flag)"
        case .default(.list(let texts)): texts.isEmpty ? "`[]`" : texts.map { "`\($0)`" }.joined(separator: ", ")
        case .derived(let words): words
        }
    }

    private static func twin(_ key: Key) -> String {
        guard let twin = key.twin, key.isSecret || key.holdsLines else { return "" }
        return " Instead of `\(twin)`."
    }
}
