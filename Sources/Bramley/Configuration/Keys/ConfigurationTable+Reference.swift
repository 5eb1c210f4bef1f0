/// `docs/reference/configuration.md`, generated from the table: `bramley check --reference > docs/reference/configuration.md`.
extension ConfigurationTable {
    package static var reference: String {
        var text = preface
        for section in sections {
            text += "\n## \(section.title)\n\n\(header)"
            for key in section.keys { text += row(key) }
        }
        return text
    }

    private static let preface = """
        # Configuration

        <!-- Written by `bramley check --reference`; a test compares this page with the program. -->

        Bramley reads one JSON file: the one that `--config FILE` or `BRAMLEY_CONFIG` names, else `config.json` in \
        the working directory, else `/etc/bramley/config.json`. Start with `config.example.json`. `bramley check` \
        validates it and reports every problem at once.

        - **Precedence**: flags, then the environment, then the file.
        - **Three spellings**: `{"apple": {"servicesID": "…"}}` in the file, `BRAMLEY_APPLE_SERVICES_ID` in the \
        environment, `--apple-services-id` as a flag. In the latter two, lists are comma-separated or written as in \
        the file.
        - **Unknown names are errors**, except variables that Kubernetes sets for a Service (`BRAMLEY_SERVICE_HOST`, \
        `BRAMLEY_PORT=tcp://…`).
        - **Accidents of pasting are ignored**: blanks, line ends, a byte order mark, quotes around a variable or a \
        secret.
        - **Durations are seconds, sizes are bytes.**
        - **Links** (`login.passwordURL`, `login.changePasswordURL`, `site.…`) are https addresses or paths of \
        publicURL's host.
        - **Secrets** have two keys, of which you use one: a file (`apple.privateKeyFile`) or the text itself \
        (`apple.privateKey`), where `\\n` may replace line breaks. A text is refused as a flag, which other users of \
        the machine can read, and a file if everyone can read it (`chmod 600`).
        - **Relative paths** begin at the file's folder, also the default of `storage.directory`; in the environment \
        and in flags, at the working directory.
        - **Editors** use the [schema](../config.schema.json) if the file has `"$schema": "config.schema.json"`. \
        `bramley init` writes both; `bramley check --schema` prints it.
        - **The simulator cannot replace Apple by accident**: unless `publicURL` is on localhost, 127.0.0.1, \
        `.localhost` or `.test`, the addresses under `apple` must be Apple's. `--allow-simulated-apple` overrides \
        that and puts a banner on every page.

        """

    private static let header = "| Key | Value | Default | Meaning |\n|---|---|---|---|\n"

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
