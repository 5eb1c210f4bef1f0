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
        reports every problem at once.

        - **Precedence**: flags, then the environment, then the file.
        - **Three spellings**: `{"apple": {"servicesID": "…"}}` in the file, `BRAMLEY_APPLE_SERVICES_ID` in the \
        environment, `--apple-services-id` as a flag. In the latter two, lists are comma-separated or written as in \
        the file.
        - **Unknown names are errors**, except variables that Kubernetes sets for a Service (`BRAMLEY_SERVICE_HOST`, \
        `BRAMLEY_PORT=tcp://…`).
        - **Accidents of pasting are ignored**: blanks, line ends, a byte order mark, quotes around a variable or a \
        secret.
        - **Links** (`login.passwordURL`, `site.…`) are https addresses or paths of publicURL's host.
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

        Below, what else is possible follows the default. A key without a default may be left out.

        """

    private static let header = "| Key | Default | Meaning |\n|---|---|---|\n"

    private static func row(_ key: Key) -> String {
        "| `\(key.name)` | \(values(key)) | \(key.meaning)\(twin(key)) |\n"
    }

    /// The default, and what else is possible.
    static func values(_ key: Key) -> String {
        let others = others(key)
        return [presence(key), others.isEmpty ? "" : "(\(others))"].filter { !$0.isEmpty }.joined(separator: " ")
    }

    /// Empty if any text is possible.
    private static func others(_ key: Key) -> String {
        switch key.type {
        case .text, .boolean: ""
        case .integer(let range, let unit):
            "\(range.lowerBound)–\(range.upperBound)\(unit.isEmpty ? "" : " \(unit)")"
        case .list: key.acceptsOneText ? "or one text" : key.presence.value == nil ? spans(key.entries ?? []) : ""
        case .choice(let words): spans(words.filter { key.presence != .default(.text($0)) })
        case .length(let range): "\(range.lowerBound)–\(range.upperBound) pixels, or `\"100%\"`"
        }
    }

    private static func presence(_ key: Key) -> String {
        switch key.presence {
        case .required: "**required**"
        case .requiredUnlessTwin: "**required**, this or `\(key.twin ?? "")`"
        case .optional: ""
        case .default(.text(let text)): "`\(text)`"
        case .default(.integer(let value)): "\(value)"
        case .default(.boolean(let flag)): "\(flag)"
        case .default(.list(let texts)): texts.isEmpty ? "`[]`" : spans(texts)
        case .derived(let words): words
        }
    }

    private static func spans(_ texts: [String]) -> String { texts.map { "`\($0)`" }.joined(separator: ", ") }

    private static func twin(_ key: Key) -> String {
        guard let twin = key.twin, key.isSecret || key.holdsLines else { return "" }
        return " Instead of `\(twin)`."
    }
}
