extension ConfigurationTable {
    static let appleKeys: [ConfigurationKey] = [
        ConfigurationKey(
            name: "apple.servicesID", type: .text, presence: .required, example: "\"com.example.web\"",
            pattern: "^[A-Za-z0-9.-]{1,255}$",
            meaning: "The Services ID: the client ID of the web sign-in, such as `com.example.web`."),
        ConfigurationKey(
            name: "apple.bundleIDs", type: .list, presence: .list([]),
            meaning: """
                The bundle ID of the primary App ID that the Services ID is grouped with, and those of the team's \
                [apps](native.md) that people may sign in from. The first is needed also when there is no app: Apple \
                addresses its notifications to it, and those for an app that is not listed are refused.
                """),
        ConfigurationKey(
            name: "apple.teamID", type: .text, presence: .required, example: "\"A1B2C3D4E5\"",
            pattern: "^[A-Z0-9]{10}$",
            meaning: "The ten characters under Membership details in Apple's developer account."),
        ConfigurationKey(
            name: "apple.keyID", type: .text, presence: .required, example: "\"F6G7H8I9J0\"",
            pattern: "^[A-Z0-9]{10}$",
            meaning: "The ten characters of the Sign in with Apple key; they are in the name of its .p8 file."),
        ConfigurationKey(
            name: "apple.privateKeyFile", type: .text, presence: .requiredUnlessTwin, twin: "apple.privateKey",
            meaning: "The .p8 file of that key. Readable by Bramley's user only (`chmod 600`)."),
        ConfigurationKey(
            name: "apple.privateKey", type: .text, presence: .requiredUnlessTwin, isSecret: true,
            twin: "apple.privateKeyFile", meaning: "The text of that file instead, with its line breaks as `\\n`."),
        ConfigurationKey(
            name: "apple.nextKeyID", type: .text, presence: .optional, pattern: "^[A-Z0-9]{10}$",
            meaning: """
                The ID of a second key, while one takes over from the other: when Apple refuses one key as \
                `invalid_client`, the other is tried, and the one that works stays.
                """),
        ConfigurationKey(
            name: "apple.nextPrivateKeyFile", type: .text, presence: .optional, twin: "apple.nextPrivateKey",
            meaning: "The .p8 file of the second key. SIGHUP reads the IDs and files of both keys again."),
        ConfigurationKey(
            name: "apple.nextPrivateKey", type: .text, presence: .optional, isSecret: true,
            twin: "apple.nextPrivateKeyFile",
            meaning: "The text of that file instead, with its line breaks as `\\n`."),
        ConfigurationKey(
            name: "apple.scopes", type: .list, presence: .required, example: "[\"name\", \"email\"] or []",
            entries: ["name", "email"],
            meaning: """
                What to ask people for: any of `name` and `email`, or `[]`. Required, because asking for less is a \
                decision: Apple gives the name once only, and no more than you need is right.
                """),
        ConfigurationKey(
            name: "apple.issuers", type: .list, presence: .list(["https://appleid.apple.com"]),
            meaning: """
                The values of `iss` that are accepted, letter for letter. All of them mean the one Apple: the same people, whichever their \
                tokens name. The first is also the `aud` of what Bramley signs for Apple.
                """),
        ConfigurationKey(
            name: "apple.endpoint", type: .text, presence: .text("https://appleid.apple.com"),
            meaning: """
                The origin of Apple's servers: `/auth/authorize`, `/auth/token`, `/auth/keys` and `/auth/revoke` are \
                looked for there.
                """),
        ConfigurationKey(
            name: "apple.scriptURL", type: .text,
            presence: .text("https://appleid.cdn-apple.com/appleauth/static/jsapi/appleid/1/{locale}/appleid.auth.js"),
            meaning: "Apple's script for the button. `{locale}` becomes the visitor's locale."),
        ConfigurationKey(
            name: "apple.nativeNonce", type: .choice(["sha256", "raw"]), presence: .text("sha256"),
            meaning: """
                What of the nonce [apps](native.md) put into their request to Apple: `sha256` its SHA-256 in lower-case \
                hexadecimal, `raw` the nonce itself. The other is refused.
                """),
        ConfigurationKey(
            name: "apple.onAccountDeleted", type: .choice(["erase", "disable"]), presence: .text("erase"),
            meaning: "What Apple's word that a person deleted their Apple Account does to them here."),
    ]

    static let loginKeys: [ConfigurationKey] = [
        ConfigurationKey(
            name: "login.mode", type: .choice(["redirect", "popup"]), presence: .text("redirect"),
            meaning: """
                How Apple's page opens: `redirect` replaces the login page, `popup` opens a [window beside it](popup.md).
                """),
        ConfigurationKey(
            name: "login.allowedReturnOrigins", type: .list, presence: .list([]),
            meaning: "Exact https origins besides publicURL's own to which a visitor may be sent back after signing in."
        ),
        ConfigurationKey(
            name: "login.defaultReturnTo", type: .text, presence: .text("/account"),
            meaning: """
                Where a visitor goes who named no target: a path of publicURL's host, as it is written, or an address on an \
                allowed origin. Without the key, the account page, which is below the path of publicURL.
                """),
        ConfigurationKey(
            name: "login.attemptLifetime", type: .integer(1...600, unit: "seconds"), presence: .integer(600),
            meaning:
                "How long a sign-in may take from the login page to Apple's answer. An open login page renews itself."),
        ConfigurationKey(
            name: "login.passwordURL", type: .text, presence: .optional,
            meaning:
                "The site's own password login, shown beside the button: an https address or a path of publicURL's host."
        ),
        ConfigurationKey(
            name: "login.askExistingAccount", type: .boolean, presence: .boolean(false),
            meaning: """
                Ask whom Apple names for the first time whether they have an account here already, so that nobody gets \
                a second one by accident. Who has is sent to `login.passwordURL` with a ticket: see \
                [linking](linking.md).
                """),
    ]

    static let forwardAuthKeys: [ConfigurationKey] = [
        ConfigurationKey(
            name: "forwardAuth.style", type: .choice(["forwarded", "original"]), presence: .text("forwarded"),
            meaning: """
                The header family in which the proxy tells `/auth/verify` what was asked for: `X-Forwarded-*` or \
                `X-Original-*`.
                """),
        ConfigurationKey(
            name: "forwardAuth.rulesFile", type: .text, presence: .optional, twin: "forwardAuth.rules",
            meaning: """
                A JSON file that says who may open what, by host and path: [access rules](proxies/rules.md). Read at \
                start and again at SIGHUP. Without it, everybody passes `/auth/verify` who is signed in.
                """),
        ConfigurationKey(
            name: "forwardAuth.rules", type: .text, presence: .optional, twin: "forwardAuth.rulesFile",
            meaning: "The text of that file instead, on one line."),
    ]
}
