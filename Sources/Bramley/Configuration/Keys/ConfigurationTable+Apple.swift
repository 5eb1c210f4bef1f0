import Accounts
import AppleID
import Web

extension ConfigurationTable {
    @KeyList static var appleKeys: [Key] {
        Key(
            "apple.servicesID", .clientID, .required, into: \.apple.servicesID, example: "\"com.example.web\"",
            "The Services ID: the client ID of the web sign-in, such as `com.example.web`.")
        Key(
            "apple.bundleIDs", .clientIDs, into: \.apple.bundleIDs,
            """
            The bundle ID of the primary App ID that the Services ID is grouped with, then those of your \
            [apps](../apps/native.md). The first is needed even without an app: Apple \
            [addresses notifications](../apps/events.md#notifications-for-unlisted-apps) to it.
            """)
        Key(
            "apple.teamID", .teamID, .required, into: \.apple.teamID, example: "\"A1B2C3D4E5\"",
            "The ten characters under Membership details in Apple's developer account.")
        Key(
            "apple.keyID", .keyID, .required, into: \.apple.key.id, example: "\"F6G7H8I9J0\"",
            "The ten characters in the name of the Sign in with Apple key's .p8 file.")
        Key.twins(
            "apple.privateKeyFile", presence: .requiredUnlessTwin,
            "The Sign in with Apple key's .p8 file. Only Bramley's user may read it (`chmod 600`).",
            inline: "Its text.")
        Key(
            "apple.nextKeyID", .keyID, .optional,
            "A second key's ID, while you [replace the key](../operate/keys.md#apple-key).")
        Key.twins("apple.nextPrivateKeyFile", "Its .p8 file.", inline: "Its text.")
        Key(
            "apple.scopes", .scopes, .required, into: \.apple.scopes, example: "[\"name\", \"email\"] or []",
            "What to ask people for, or `[]`. Request only what you use. Apple gives the name only once.")
        Key(
            "apple.issuers", .issuers, into: \.apple.issuers,
            "Accepted values of `iss`. The first is the `aud` of what Bramley signs for Apple.")
        Key("apple.endpoint", .origin, into: \.apple.endpoint, "The origin of Apple's endpoints, `/auth/…`.")
        Key(
            "apple.scriptURL", .scriptURL, into: \.web.apple.scriptURL,
            "Apple's script for the button; `{locale}` becomes the visitor's.")
        Key(
            "apple.nativeNonce", .choice("sha256", "raw"), into: \.web.signIn.nativeNonceIsRaw,
            "What [apps](../apps/native.md) send to Apple: the nonce's SHA-256 in lower-case hexadecimal, or the nonce."
        )
        Key(
            "apple.onAccountDeleted", .choice, into: \.apple.onAccountDeleted,
            "What happens to a user who deletes their Apple Account.")
    }

    @KeyList static var loginKeys: [Key] {
        Key(
            "login.mode", .choice("redirect", "popup"), into: \.web.login.opensWindow,
            "Whether Apple's page replaces the login page or opens in a [window beside it](../apps/web-app.md#popup)."
        )
        Key(
            "login.allowedReturnOrigins", .origins, into: \.web.login.allowedReturnOrigins,
            "Further https origins that visitors may return to after signing in.")
        Key(
            "login.defaultReturnTo", .text, into: \.web.login.defaultReturnTo,
            """
            Where visitors go without a return target: a path of publicURL's host, or an address on an allowed \
            origin. The default is below publicURL's path.
            """)
        Key(
            "login.attemptLifetime", .integer(1...600, "seconds"), into: \.web.signIn.attemptLifetime,
            "How long a sign-in may take, from the login page to Apple's answer.")
        Key(
            "login.passwordURL", .link, into: \.web.login.passwordURL,
            "Your site's own password login, shown beside the button.")
        Key(
            "login.changePasswordURL", .link, into: \.web.login.changePasswordURL,
            "Where `/.well-known/change-password` leads.")
        Key(
            "login.askExistingAccount", .boolean, into: \.web.signIn.asksExisting,
            "Ask new people whether they have an account on your site, to [link](../apps/linking.md) it.")
    }

    @KeyList static var forwardAuthKeys: [Key] {
        Key(
            "forwardAuth.style", .choice, into: \.web.forwardAuth,
            "Whether your proxy tells `/auth/verify` the original request in `X-Forwarded-*` or `X-Original-*`.")
        Key.twins(
            "forwardAuth.rulesFile", isSecret: false,
            """
            A JSON file with [access rules](../sites/rules.md). Without it, everyone who is signed in passes.
            """, inline: "Its text instead, on one line.")
    }
}
