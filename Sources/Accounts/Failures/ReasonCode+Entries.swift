package import Logging

extension ReasonCode {
    /// Everything about a code. docs/reference/failures.md and `bramley explain` print it; texts are Markdown.
    package struct Entry: Hashable, Sendable {
        package let status: Int
        /// Of the log line: `debug` for invalid requests, `info` for visitors' questions, else higher.
        package let level: Logger.Level
        /// What happened, for the operator and the caller's developer.
        package let happened: String
        /// What the visitor or the application gets. "Problem" is a problem document (RFC 9457).
        package let seen: String
        package let remedy: String

        fileprivate init(
            _ status: Int, _ level: Logger.Level, _ happened: String, seen: String = "problem",
            remedy: String = "nothing"
        ) {
            self.status = status
            self.level = level
            self.happened = happened
            self.seen = seen
            self.remedy = remedy
        }
    }

    package var entry: Entry {
        switch self {
        // Sign-ins.
        case .malformedCallback: Entry(400, .debug, "the post is not what Apple sends", seen: "retry page")
        case .invalidState:
            Entry(
                400, .debug, "the state is forged, or sealed with an unknown key", seen: "retry page",
                remedy: "list a former key in `secrets.previousSealingKeyFiles`")
        case .staleState:
            Entry(
                400, .info, "the sign-in took longer than `login.attemptLifetime`", seen: "retry page",
                remedy: "nothing; if it affects everyone, the clock jumped")
        case .wrongBrowser:
            Entry(
                400, .info, "the binding cookie belongs to another browser", seen: "retry page",
                remedy: "nothing; attacks look like this")
        case .missingBinding:
            Entry(
                400, .info, "cookies are blocked", seen: "help with cookies",
                remedy: "if it affects everyone, the proxy removes cookies, or visitors do not use `publicURL`")
        case .replayed: Entry(400, .info, "the attempt was used and its session has ended", seen: "retry page")
        case .cancelled: Entry(400, .info, "the visitor cancelled at Apple", seen: "retry page")
        case .providerError: Entry(400, .info, "another error from Apple, in `detail`", seen: "retry page")
        case .identityToken:
            Entry(
                400, .warning, "the token failed the check in `detail`", seen: "retry page",
                remedy: "if often, compare `apple.servicesID`, `apple.bundleIDs` and `apple.issuers` with the portal; "
                    + "for an app's `nonce is wrong`, check `apple.nativeNonce`")
        case .tokenMismatch:
            Entry(
                400, .warning, "the two tokens differ in person or client", seen: "retry page",
                remedy: "keep the log line: an attack, or an error at Apple")
        case .clock:
            Entry(
                400, .warning, "a token's time is over a minute off", seen: "retry page", remedy: "correct this clock")
        case .keysUnavailable:
            Entry(
                503, .warning,
                "Apple's keys could not be fetched, or lack the token's",
                seen: "try later",
                remedy: "check access to `apple.endpoint`")
        case .providerUnavailable:
            Entry(
                503, .warning,
                "Apple's token endpoint gave no useful answer, or another process is exchanging the code",
                seen: "try later", remedy: "as `keys_unavailable`")
        case .codeRefused:
            Entry(
                400, .warning, "Apple refused the code; codes last five minutes", seen: "retry page",
                remedy: "nothing if rare; if always, compare the return URL with the portal's")
        case .clientRefused:
            Entry(
                400, .error, "Apple refused *you*", seen: "our mistake",
                remedy: "compare `apple.teamID`, `apple.keyID`, `apple.privateKeyFile` and `apple.servicesID` with the "
                    + "portal: perhaps the key is revoked, or this clock is ahead")
        case .revoked:
            Entry(
                400, .info, "consent was withdrawn during the sign-in, or a deleted account is being revoked at Apple",
                seen: "retry page")
        case .storage:
            Entry(
                503, .error, "the database write failed", seen: "try later",
                remedy: "[free or repair the disk](../operate/limits.md#the-database-takes-no-writes)")
        case .userPending:
            Entry(
                403, .info, "not approved yet (`access.signUp`); `detail` has the user's id", seen: "wait for approval",
                remedy: "`bramley users approve`")
        case .userDisabled:
            Entry(
                403, .info, "the person is disabled; `detail` has the user's id", seen: "switched off",
                remedy: "`bramley users enable`, if wrong")
        case .signUpClosed: Entry(403, .info, "a new person, and `access.signUp` is `closed`", seen: "no new accounts")
        case .returnToRefused:
            Entry(
                400, .info, "`return_to` is not an allowed origin", seen: "wrong link",
                remedy: "add your own link's origin to `login.allowedReturnOrigins`")
        // Only sign-ins of apps.
        case .invalidNonce:
            Entry(
                400, .debug, "an app's nonce is forged, or sealed with an unknown key", remedy: "as `invalid_state`")
        case .nonceExpired: Entry(400, .info, "an app's nonce is older than `login.attemptLifetime`")
        case .nonceUsed: Entry(400, .info, "an app's nonce was used for another request, or its session ended")
        case .nativeNotConfigured:
            Entry(
                404, .info, "an app signs in, and `apple.bundleIDs` is empty", remedy: "add the app")
        // Notifications.
        case .notificationRefused:
            Entry(
                400, .debug, "not Apple's, or not for this site; see `detail`",
                remedy: "nothing; if Apple's never arrive, run `bramley doctor`")
        // Requests of proxies.
        case .notAllowed:
            Entry(
                403, .info, "an [access rule](../sites/rules.md), named in `detail`, excludes the person",
                seen: "who may open it", remedy: "change the rule or the person's groups")
        case .originalRequest:
            Entry(
                403, .warning, "the proxy described the request twice, ambiguously or incompletely",
                seen: "not understood",
                remedy: "check the [proxy's file](../sites/proxies.md), `forwardAuth.style`, `server.trustedProxies`")
        case .assertionNotConfigured:
            Entry(
                404, .info, "no `assertion.audience`; for the keys, no application either", remedy: "set it")
        // The API, and requests of any kind.
        case .signedOut: Entry(401, .debug, "no live session", seen: "login page, or problem")
        case .apiKeyRequired: Entry(401, .debug, "no API key", remedy: "send one")
        case .invalidToken:
            Entry(
                401, .info, "unknown or revoked API key; at userinfo, an ended access token",
                remedy: "`bramley api-keys create`")
        case .apiKeyExpired: Entry(401, .info, "the API key has expired", remedy: "`bramley api-keys create`")
        case .insufficientScope:
            Entry(
                403, .info, "the key lacks the scope in `detail`", remedy: "create a key with it")
        case .invalidRequest:
            Entry(
                400, .debug, "an invalid parameter or content; see `detail`", seen: "problem that names it",
                remedy: "fix the caller")
        case .userNotFound: Entry(404, .debug, "no such user")
        case .sessionNotFound: Entry(404, .debug, "the user has no such session")
        case .webhookNotFound: Entry(404, .debug, "endpoint not configured, or not waiting for that event")
        case .clientNotFound: Entry(404, .debug, "no such application")
        case .externalIDTaken: Entry(409, .debug, "another user has this external ID")
        case .operatorGroup:
            Entry(
                403, .warning,
                "an API key tried to change who is in a group of `operator.groups`, or to activate a member",
                remedy: "check the application; use `bramley users groups`")
        case .preconditionFailed: Entry(412, .debug, "the user has changed since (`If-Match`, `If-None-Match`)")
        case .cursorExpired:
            Entry(
                410, .debug, "events following `after` may have been deleted",
                remedy: "[continue from the newest event](api.md#get-apiv1events), and read more often")
        case .freshSignInRequired: Entry(403, .info, "the sign-in is older than ten minutes", seen: "sign in again")
        case .unavailable: Entry(503, .error, "the database does not answer", seen: "try later", remedy: "as `storage`")
        case .notFound: Entry(404, .debug, "no such route", seen: "no such page")
        case .methodNotAllowed:
            Entry(
                405, .debug, "the route has no such method, see `Allow`; 501 if unknown", seen: "no such page")
        case .badRequest: Entry(400, .debug, "a duplicate parameter, or an ambiguous path", seen: "not understood")
        case .crossSite:
            Entry(
                403, .info, "a change requested from another site", seen: "try from the page",
                remedy: "if it affects everyone, the proxy changes `Origin`, or visitors do not use `publicURL`")
        case .contentTooLarge: Entry(413, .debug, "too much content", seen: "not understood")
        case .unsupportedMediaType:
            Entry(
                415, .debug, "pages, callback and introspection take forms, other API routes JSON",
                seen: "not understood")
        case .tooManyRequests:
            Entry(
                429, .info, "too many from one address", seen: "wait",
                remedy: "if it affects everyone, add the proxy to `server.trustedProxies`")
        // Links. The two with hyphens follow Apple's guide for account authentication extensions.
        case .linkUnknown:
            Entry(
                404, .debug, "no such link, or not for this ticket, token or API key", seen: "unknown link")
        case .linkExpired:
            Entry(
                410, .info, "the [link's](../apps/linking.md) ten minutes are over", seen: "start again")
        case .linkEnded:
            Entry(
                409, .info,
                "the link is completed, refused or past this step, or the person can no longer sign in with Apple",
                seen: "start again")
        case .codeInvalid: Entry(400, .info, "a wrong code; five end the link")
        case .identityLinkedElsewhere:
            Entry(
                409, .info, "this Apple Account has another external ID", seen: "page that says so",
                remedy: "see [linking](../apps/linking.md)")
        case .accountAlreadyLinked:
            Entry(
                409, .info, "another Apple Account has this external ID", seen: "page that says so",
                remedy: "see [linking](../apps/linking.md)")
        case .tokenRequired:
            Entry(401, .debug, "no ticket or access token as Bearer", remedy: "fix the application")
        // Applications that sign people in by OpenID Connect.
        case .openIDNotConfigured:
            Entry(
                404, .info, "no application is registered, and `openid.clientDocuments` is empty",
                remedy: "[register one](../apps/openid.md)")
        case .openIDClientUnknown:
            Entry(
                400, .info, "unknown `client_id`", seen: "application unknown",
                remedy: "compare it with the [list](../apps/openid.md#clients)")
        case .openIDErrorReturned:
            Entry(
                303, .info, "the error in `detail` was returned through the browser", seen: "the application's page",
                remedy: "see the [causes](../apps/openid.md#when-it-does-not-work)")
        case .openIDRedirectRefused:
            Entry(
                400, .info,
                "the client in `detail` has not registered exactly this `redirect_uri` or `post_logout_redirect_uri`",
                seen: "not set up correctly",
                remedy: "register what it sends")
        case .openIDNotAllowed:
            Entry(
                403, .info, "the person is in no group of the client in `detail`", seen: "page that says so",
                remedy: "add the person to a group")
        case .openIDClientRefused:
            Entry(
                401, .info, "unknown client, wrong secret, or the wrong way to send it", seen: "`invalid_client`",
                remedy: "check its secret, or [rotate it](../apps/openid.md#clients)")
        case .openIDGrantRefused:
            Entry(
                400, .info, "a code or refresh token is unknown, used, ended or another client's; see `detail`",
                seen: "`invalid_grant`",
                remedy: "nothing; if always, its two requests differ in `redirect_uri` or PKCE")
        }
    }
}
