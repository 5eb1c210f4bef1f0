/// `docs/reference/configuration.md`, generated from the table: `bramley check --reference > docs/reference/configuration.md`.
extension ConfigurationTable {
    package static var reference: String {
        var text = preface
        for section in sections {
            text += "\n## \(section.title)\n\n"
            for key in section.keys {
                let values = [presence(key), others(key)].filter { !$0.isEmpty }.joined(separator: "; ")
                text += "- `\(key.name)`\(values.isEmpty ? "" : " (\(values))"): \(key.meaning)\n"
            }
        }
        return text
    }

    private static let preface = """
        # Configuration

        <!-- Written by `bramley check --reference`. -->

        Bramley reads one JSON file: `--config FILE` or `BRAMLEY_CONFIG`, otherwise `config.json` in the working \
        directory, otherwise `/etc/bramley/config.json`. Start with `config.example.json`.

        - **Precedence**: flags, environment, file.
        - **Three spellings**: `{"apple": {"servicesID": "…"}}` in the file, `BRAMLEY_APPLE_SERVICES_ID` in the \
        environment, `--apple-services-id` as a flag. In the latter two, lists may be comma-separated.
        - **Unknown names are errors**, except variables that Kubernetes sets for a Service (`BRAMLEY_SERVICE_HOST`, \
        `BRAMLEY_PORT=tcp://…`).
        - **Ignored**: blanks, line ends, byte order marks, and quotes around a variable or a secret.
        - **Links** (`login.passwordURL`, `site.…`) are https addresses or paths of publicURL's host.
        - **Secrets and certificates** have two keys; use one: a file (`apple.privateKeyFile`, \
        [mode 600](../trust/security.md#users-and-files)) or its text (`apple.privateKey`), where `\\n` may replace \
        line breaks. Secret texts are refused as flags.
        - **Relative paths** start at the file's folder, as does the default of `storage.directory`; in the \
        environment and in flags, at the working directory.
        - **Editors** use the [schema](../config.schema.json) if the file has `"$schema": "config.schema.json"`. \
        `bramley init` writes both; `bramley check --schema` prints it.
        - **A simulated Apple** under `apple` needs a `publicURL` on localhost, 127.0.0.1, `.localhost` or `.test`, or \
        `serve --allow-simulated-apple`, which puts a banner on every page.

        In brackets are the default, if any, and other possible values. [What SIGHUP \
        reads again](../operate/operating.md#what-sighup-reads-again) says when changes take effect.

        """

    /// The default, and what else is possible.
    static func values(_ key: Key) -> String {
        let others = others(key)
        return [presence(key), others.isEmpty ? "" : "(\(others))"].filter { !$0.isEmpty }.joined(separator: " ")
    }

    private static func others(_ key: Key) -> String {
        switch key.type {
        case .text, .boolean: ""
        case .integer(let range, let unit): "\(range.lowerBound)–\(range.upperBound)\(unit.isEmpty ? "" : " \(unit)")"
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
        case .default(.list(let texts)): texts.isEmpty ? "`[]`" : texts == key.entries ? "all" : spans(texts)
        case .derived(let words): words
        }
    }

    private static func spans(_ texts: [String]) -> String { texts.map { "`\($0)`" }.joined(separator: ", ") }
}
