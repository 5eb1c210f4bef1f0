import Web

extension ConfigurationTable {
    /// Names and ranges are Apple's, of the button its script renders.
    static let buttonKeys: [ConfigurationKey] = [
        ConfigurationKey(
            name: "button.color", type: .choice(["black", "white"]), presence: .optional,
            meaning: "The colour of Apple's button. Without it: black on light pages, white on dark ones."),
        ConfigurationKey(
            name: "button.type", type: .choice(["sign-in", "continue", "sign-up"]), presence: .text("sign-in"),
            meaning: "What it says: sign in, continue or sign up with Apple."),
        ConfigurationKey(
            name: "button.mode", type: .choice(["center-align", "left-align", "logo-only"]),
            presence: .text("center-align"), meaning: "Where its logo and label stand."),
        ConfigurationKey(
            name: "button.border", type: .boolean, presence: .boolean(true), meaning: "Whether it has a border."),
        ConfigurationKey(
            name: "button.borderRadius", type: .integer(0...50, unit: "pixels"), presence: .integer(15),
            meaning: "How round its corners are."),
        ConfigurationKey(
            name: "button.width", type: .length(130...375), presence: .integer(280), meaning: "Its width."),
        ConfigurationKey(
            name: "button.height", type: .length(30...64), presence: .integer(44), meaning: "Its height."),
        ConfigurationKey(
            name: "button.size", type: .integer(30...64, unit: "pixels"), presence: .integer(44),
            meaning: "Its width and height in the mode `logo-only`."),
        ConfigurationKey(
            name: "button.logoSize", type: .choice(["small", "medium", "large"]), presence: .text("small"),
            meaning: "The size of the logo in the mode `left-align`."),
        ConfigurationKey(
            name: "button.logoPosition", type: .integer(0...375, unit: "pixels"), presence: .optional,
            meaning: "The logo's distance from the left edge in the mode `left-align`."),
        ConfigurationKey(
            name: "button.labelPosition", type: .integer(0...375, unit: "pixels"), presence: .optional,
            meaning: "The label's distance from the left edge in the mode `left-align`."),
    ]

    static let siteKeys: [ConfigurationKey] = [
        ConfigurationKey(
            name: "site.name", type: .text, presence: .derived("publicURL's host"),
            meaning: "What people are signing in to, as the pages say it."),
        ConfigurationKey(
            name: "site.logo", type: .text, presence: .optional,
            meaning: "A picture for the login page: an https address or a path of publicURL's host."),
        ConfigurationKey(
            name: "site.privacyURL", type: .text, presence: .optional,
            meaning: "The privacy policy: an https address or a path of publicURL's host."),
        ConfigurationKey(
            name: "site.termsURL", type: .text, presence: .optional,
            meaning: "The terms of use: an https address or a path of publicURL's host."),
        ConfigurationKey(
            name: "site.supportURL", type: .text, presence: .optional,
            meaning: """
                Where pages send people who need help: an https address, a path of publicURL's host, or \
                `mailto:help@example.com`.
                """),
        ConfigurationKey(
            name: "site.homeURL", type: .text, presence: .optional,
            meaning: """
                The site's start page, to which pages lead home: an https address or a path of publicURL's host. Without \
                it, pages lead to `/` of publicURL.
                """),
    ]

    static let pagesKeys: [ConfigurationKey] = [
        ConfigurationKey(
            name: "pages.directory", type: .text, presence: .optional,
            meaning: """
                Your own templates, texts and assets, each in place of the built-in one of that name; read at start. \
                `bramley pages export DIR` writes them all.
                """),
        ConfigurationKey(
            name: "pages.locales", type: .list, presence: .list(PageLanguages.builtIn),
            example: "[\"en\", \"de\"]",
            meaning: """
                The languages of the pages, by their tags; the first is for visitors who read none of the others. \
                pages.directory can add to them.
                """),
    ]

    static let sessionKeys: [ConfigurationKey] = [
        ConfigurationKey(
            name: "sessions.lifetime", type: .integer(60...34_560_000, unit: "seconds"), presence: .integer(2_592_000),
            meaning:
                "When a session ends however much it is used. 30 days by default; browsers keep no cookie beyond 400."),
        ConfigurationKey(
            name: "sessions.idleTimeout", type: .integer(60...34_560_000, unit: "seconds"),
            presence: .integer(1_209_600),
            meaning: "When an unused session ends, 14 days by default; at most sessions.lifetime."),
        ConfigurationKey(
            name: "sessions.cookieDomain", type: .text, presence: .optional,
            meaning: """
                A parent of publicURL's host, such as `example.com`, whose other hosts shall receive the session cookie \
                too. Without it only publicURL's host does, which is safer.
                """),
    ]

    static let storageKeys: [ConfigurationKey] = [
        ConfigurationKey(
            name: "storage.directory", type: .text, presence: .text("data"),
            meaning: "Where `bramley.db` lives. A local file system; network file systems are unsupported."),
        ConfigurationKey(
            name: "secrets.sealingKeyFile", type: .text, presence: .derived("sealing.key in storage.directory"),
            twin: "secrets.sealingKey",
            meaning: """
                The key that seals what the database and the browser hold: 64 hexadecimal digits (`openssl rand -hex 32`). \
                Made together with a new database when there is none; back it up apart from the database.
                """),
        ConfigurationKey(
            name: "secrets.sealingKey", type: .text, presence: .optional, isSecret: true,
            twin: "secrets.sealingKeyFile",
            meaning: "The 64 digits instead of a file."),
        ConfigurationKey(
            name: "secrets.previousSealingKeyFiles", type: .list, presence: .list([]),
            twin: "secrets.previousSealingKeys",
            meaning: "Keys used before, which still open what they sealed."),
        ConfigurationKey(
            name: "secrets.previousSealingKeys", type: .list, presence: .list([]), isSecret: true,
            twin: "secrets.previousSealingKeyFiles", meaning: "The digits of those keys instead of files."),
    ]

    static let apiKeys: [ConfigurationKey] = [
        ConfigurationKey(
            name: "api.allowedOrigins", type: .list, presence: .list([]),
            meaning: """
                Exact https origins besides publicURL's own whose pages may ask who is signed in (CORS): \
                `GET /api/v1/session` and `GET /api/v1/session/assertion`. What changes something stays with publicURL's \
                pages.
                """)
    ]

    static let retentionKeys: [ConfigurationKey] = [
        ConfigurationKey(
            name: "retention.events", type: .integer(3_600...315_360_000, unit: "seconds"),
            presence: .integer(7_776_000),
            meaning: """
                How long an entry of the journal is kept, 90 days by default. One that a webhook endpoint has not been sent \
                yet is kept until it was, or was given up.
                """),
        ConfigurationKey(
            name: "retention.notifications", type: .integer(3_600...315_360_000, unit: "seconds"),
            presence: .integer(2_592_000),
            meaning: """
                How long the payloads of Apple's notifications are kept, 30 days by default; without its payload one cannot \
                be replayed. That it came is remembered for 30 days at least, so that a repetition has no effect.
                """),
        ConfigurationKey(
            name: "retention.audit", type: .integer(86_400...315_360_000, unit: "seconds"),
            presence: .integer(400 * 86_400),
            meaning: """
                How long the lines of the [audit log](operating.md#audit-log) are kept, a day at least. They outlive the \
                people they are about, whom they do not name.
                """),
    ]
}
