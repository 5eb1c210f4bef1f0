extension ConfigurationTable {
    static let upgradeKeys: [ConfigurationKey] = [
        ConfigurationKey(
            name: "upgrade.verifierURL", type: .text, presence: .optional,
            example: "\"https://app.example.com/apple/verifier\"",
            meaning: """
                Where the application says whether a password is right, and drops it once Apple has taken its place: an \
                https address. http is accepted for localhost only. Without it there are no upgrades. See \
                [upgrades](upgrade.md).
                """),
        ConfigurationKey(
            name: "upgrade.secretFile", type: .text, presence: .optional, twin: "upgrade.secret",
            meaning: """
                The secrets that sign the questions to it, one a line, as for [webhooks](events.md), and others than \
                theirs. Read again when the file changes. Required with `upgrade.verifierURL`.
                """),
        ConfigurationKey(
            name: "upgrade.secret", type: .text, presence: .optional, isSecret: true, twin: "upgrade.secretFile",
            meaning: "The same, inline; `\\n` between two secrets."),
        ConfigurationKey(
            name: "upgrade.changePassword", type: .boolean, presence: .boolean(false),
            meaning: """
                Whether `/.well-known/change-password`, which password managers open, leads to the page `/upgrade`. \
                Leave it when the application answers there itself.
                """),
    ]
}
