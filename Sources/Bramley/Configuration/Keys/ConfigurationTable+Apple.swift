import Accounts
import AppleID
import HTTP
import Web

extension ConfigurationTable {
    @KeyList static var appleKeys: [Key] {
        Key(
            "apple.servicesID", .clientID, .required, into: \.apple.servicesID, example: "\"com.example.web\"",
            "The Services ID: the client ID of the web sign-in, such as `com.example.web`.")
        Key(
            "apple.bundleIDs", .clientIDs, into: \.apple.bundleIDs,
            """
            The bundle ID of the primary App ID that the Services ID is grouped with, and those of your team's \
            [apps](native.md) that people may sign in from. You need the first even without an app: Apple addresses its \
            notifications to it, and notifications for an app that is not listed are refused.
            """)
        Key(
            "apple.teamID", .teamID, .required, into: \.apple.teamID, example: "\"A1B2C3D4E5\"",
            "The ten characters under Membership details in Apple's developer account.")
        Key(
            "apple.keyID", .keyID, .required, into: \.apple.key.id, example: "\"F6G7H8I9J0\"",
            "The ten characters of the Sign in with Apple key; they are in the name of its .p8 file.")
        Key.twins(
            "apple.privateKeyFile", presence: .requiredUnlessTwin,
            "The .p8 file of the Sign in with Apple key. Only Bramley's user may read it (`chmod 600`).",
            inline: "The text of that file, with its line breaks as `\\n`.")
        Key(
            "apple.nextKeyID", .keyID, .optional,
            """
            The ID of a second key, while you replace one key with the other: when Apple refuses one as \
            `invalid_client`, Bramley tries the other and keeps the one that works.
            """)
        Key.twins(
            "apple.nextPrivateKeyFile",
            "The .p8 file of the second key. On SIGHUP, Bramley reads the IDs and files of both keys again.",
            inline: "The text of that file, with its line breaks as `\\n`.")
        Key(
            "apple.scopes", .scopes, .required, into: \.apple.scopes, example: "[\"name\", \"email\"] or []",
            """
            What to ask people for: any of `name` and `email`, or `[]`. Request only what you use, \
            and remember that Apple gives the name only once.
            """)
        Key(
            "apple.issuers", .issuers, into: \.apple.issuers,
            """
            Accepted values of `iss`, compared letter for letter. All of them mean Apple: the same person has the same \
            account, whichever issuer a token names. The first is also the `aud` of what Bramley signs for Apple.
            """)
        Key(
            "apple.endpoint", .origin, into: \.apple.endpoint,
            """
            The origin of Apple's servers, which have `/auth/authorize`, `/auth/token`, `/auth/keys` and `/auth/revoke`.
            """)
        Key(
            "apple.scriptURL", .scriptURL, into: \.web.apple.scriptURL,
            "Apple's script for the button. `{locale}` becomes the visitor's locale.")
        Key(
            "apple.nativeNonce", .choice, into: \.web.signIn.nativeNonce,
            """
            How your [apps](native.md) send the nonce to Apple: `sha256` for its SHA-256 in lower-case hexadecimal, `raw` \
            for the nonce itself. The other form is refused.
            """)
        Key(
            "apple.onAccountDeleted", .choice, into: \.apple.onAccountDeleted,
            "What happens to a user when Apple reports that they deleted their Apple Account.")
    }

    @KeyList static var loginKeys: [Key] {
        Key(
            "login.mode", .choice, into: \.web.login.mode,
            "How Apple's page opens: `redirect` replaces the login page, `popup` opens a [window beside it](popup.md).")
        Key(
            "login.allowedReturnOrigins", .origins, into: \.web.login.allowedReturnOrigins,
            "Exact https origins, besides publicURL's own, that visitors may return to after signing in.")
        Key(
            "login.defaultReturnTo", .text, into: \.web.login.defaultReturnTo,
            """
            Where visitors go after signing in if no return target was given: a path of publicURL's host, exactly as \
            written, or an address on an allowed origin. The default is the account page, below publicURL's path.
            """)
        Key(
            "login.attemptLifetime", .integer(1...600, "seconds"), into: \.web.signIn.attemptLifetime,
            "How long a sign-in may take from the login page to Apple's answer. An open login page renews itself.")
        Key(
            "login.passwordURL", .link, into: \.web.login.passwordURL,
            "Your site's own password login, shown beside the button: an https address or a path of publicURL's host.")
        Key(
            "login.changePasswordURL", .link, into: \.web.login.changePasswordURL,
            """
            Where people change that password: `/.well-known/change-password`, which password managers open, redirects \
            there. An https address or a path of publicURL's host.
            """)
        Key(
            "login.askExistingAccount", .boolean, into: \.web.signIn.asksExisting,
            """
            Ask people who sign in for the first time whether they already have an account on your site, so that nobody \
            gets a second one by accident. Those who do are sent to `login.passwordURL` with a ticket. See \
            [linking](linking.md).
            """)
    }

    @KeyList static var forwardAuthKeys: [Key] {
        Key(
            "forwardAuth.style", .choice, into: \.web.forwardAuth,
            """
            The header fields with which your proxy tells `/auth/verify` the original request: `X-Forwarded-*` or \
            `X-Original-*`.
            """)
        Key.twins(
            "forwardAuth.rulesFile", isSecret: false,
            """
            A JSON file with [access rules](proxies/rules.md): who may open which host and path. Read at start and on \
            SIGHUP. Without it, everybody who is signed in passes `/auth/verify`.
            """, inline: "The text of that file instead, on one line.")
    }
}
