import RelyingParty

extension ConfigurationTable {
    static let webhookKeys: [ConfigurationKey] = [
        ConfigurationKey(
            name: "webhooks.url", type: .list, presence: .list([]), acceptsOneText: true,
            example: "\"https://app.example.com/webhooks\", or several in square brackets",
            meaning: """
                Where to send events: an https address, or several, which do not wait for each other. http is accepted \
                for localhost only. It may have a query and an IPv6 address in brackets as its host; commands and logs do not \
                show the query. See [events](events.md).
                """),
        ConfigurationKey(
            name: "webhooks.secretFile", type: .list, presence: .list([]), twin: "webhooks.secret",
            acceptsOneText: true, mayRepeat: true,
            meaning: """
                The secrets that sign them, one a line: `whsec_` and 24 to 64 random bytes in base64. All in the file \
                sign, so that a new one may stand beside the old one. Read again when it changes. One file for all \
                addresses, or one for each address of `webhooks.url`, in the same order. Required with `webhooks.url`.
                """),
        ConfigurationKey(
            name: "webhooks.secret", type: .list, presence: .list([]), isSecret: true, twin: "webhooks.secretFile",
            acceptsOneText: true, mayRepeat: true,
            meaning: "The same, inline; `\\n` between two secrets of one address."),
        ConfigurationKey(
            name: "webhooks.events", type: .list, presence: .list(JournalEntry.Kind.allCases.map(\.rawValue)),
            pattern: #"^https?://\S+( +[a-z]+\.[a-z]+)+ *$"#, entries: JournalEntry.Kind.allCases.map(\.rawValue),
            meaning: """
                The types of events to send. For one address alone: the address and its types in one entry, with blanks \
                between them, such as `"https://audit.example.com/in account.deleted user.created"`. Types that stand \
                alone are for the addresses without such an entry.
                """),
    ]
}
