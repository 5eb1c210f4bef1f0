import RelyingParty

extension ConfigurationTable {
    static let webhookKeys: [ConfigurationKey] = [
        ConfigurationKey(
            name: "webhooks.url", type: .list, presence: .list([]), acceptsOneText: true,
            example: "\"https://app.example.com/webhooks\", or several in square brackets",
            meaning: """
                Where to send events: an https address, or several, which do not wait for each other. http is accepted \
                for localhost only. See [events](events.md).
                """),
        ConfigurationKey(
            name: "webhooks.secretFile", type: .text, presence: .optional, twin: "webhooks.secret",
            meaning: """
                The secrets that sign them, one a line: `whsec_` and 24 to 64 random bytes in base64. All in the file \
                sign, so that a new one may stand beside the old one. Read again when it changes. Required with \
                `webhooks.url`.
                """),
        ConfigurationKey(
            name: "webhooks.secret", type: .text, presence: .optional, isSecret: true, twin: "webhooks.secretFile",
            meaning: "The same, inline; `\\n` between two secrets."),
        ConfigurationKey(
            name: "webhooks.events", type: .list, presence: .list(JournalEntry.Kind.allCases.map(\.rawValue)),
            entries: JournalEntry.Kind.allCases.map(\.rawValue), meaning: "The types of events to send."),
    ]
}
