package import Accounts
package import HTTP

/// All settings of the web side: plain values, validated by whoever loaded them.
package struct WebConfiguration: Sendable {
    /// `site.*`: the site that the pages represent.
    package struct Site: Sendable {
        package var name: String
        /// A path of ours or an https URL; nil shows the first letter of `name`.
        package var logo: String?
        package var privacyURL: String?
        package var termsURL: String?
        /// `site.supportURL`: where pages send people who need help; a URL, a path of ours or `mailto:`.
        package var supportURL: String?
        /// `site.homeURL`: the site's start page.
        package var homeURL: String?

        package init(
            name: String, logo: String? = nil, privacyURL: String? = nil, termsURL: String? = nil,
            supportURL: String? = nil, homeURL: String? = nil
        ) {
            self.name = name
            self.logo = logo
            self.privacyURL = privacyURL
            self.termsURL = termsURL
            self.supportURL = supportURL
            self.homeURL = homeURL
        }
    }

    /// The login page's settings for Apple's script.
    package struct Apple: Sendable {
        package var servicesID: String
        /// The apps that may sign in; with none, the routes for apps do not exist.
        package var bundleIDs: [String]
        /// The team to which `sub` belongs.
        package var teamID: TeamID
        /// As registered with Apple: `publicURL` and `/apple/callback`.
        package var redirectURI: String
        /// `name`, `email`, both or none.
        package var scopes: [String]
        /// Absolute; `{locale}` is replaced by Apple's name of the page's language.
        package var scriptURL: String
        /// A command-line override replaces Apple by a simulator: every page says so.
        package var isSimulatedByOverride: Bool

        package init(
            servicesID: String, bundleIDs: [String] = [], teamID: TeamID, redirectURI: String, scopes: [String],
            scriptURL: String =
                "https://appleid.cdn-apple.com/appleauth/static/jsapi/appleid/1/{locale}/appleid.auth.js",
            isSimulatedByOverride: Bool = false
        ) {
            self.servicesID = servicesID
            self.bundleIDs = bundleIDs
            self.teamID = teamID
            self.redirectURI = redirectURI
            self.scopes = scopes
            self.scriptURL = scriptURL
            self.isSimulatedByOverride = isSimulatedByOverride
        }
    }

    /// `login.mode`: how Apple's page opens from the login page.
    package enum LoginMode: String, Sendable, CaseIterable {
        /// Replaces the login page.
        case redirect
        /// In a separate window.
        case popup
    }

    /// `login.*`.
    package struct Login: Sendable {
        package var mode: LoginMode
        /// Exact origins that `return_to` may name besides `publicURL`; browsers restrict forms to them
        /// (`form-action`).
        package var allowedReturnOrigins: [String]
        /// The target of an attempt that names none.
        package var defaultReturnTo: String
        /// The lifetime in seconds of an attempt and of the binding cookie.
        package var attemptLifetime: Int64
        /// The site's own password sign-in, linked next to the button; also used to connect an account.
        package var passwordURL: String?
        /// Where the site's password is changed; `/.well-known/change-password` leads there.
        package var changePasswordURL: String?
        /// Whether `SignIn` asks new people if they have an account here; requires `passwordURL`.
        package var askExistingAccount = false

        package init(
            mode: LoginMode = .redirect, allowedReturnOrigins: [String] = [], defaultReturnTo: String = "/account",
            attemptLifetime: Int64 = 600, passwordURL: String? = nil
        ) {
            self.mode = mode
            self.allowedReturnOrigins = allowedReturnOrigins
            self.defaultReturnTo = defaultReturnTo
            self.attemptLifetime = attemptLifetime
            self.passwordURL = passwordURL
        }
    }

    /// `sessions.*`.
    package struct Sessions: Sendable {
        package var limits: SessionLimits
        /// The parent domain for the session cookie; nil keeps it on this host (`__Host-`).
        package var cookieDomain: String?
        /// For cached sessions, all loops together, in bytes.
        package var cacheMemory: Int

        package init(limits: SessionLimits, cookieDomain: String? = nil, cacheMemory: Int = 64 << 20) {
            self.limits = limits
            self.cookieDomain = cookieDomain
            self.cacheMemory = cacheMemory
        }
    }

    package struct Limits: Sendable {
        /// Bytes of a callback's body; beyond it 413.
        package var callbackBody: Int
        /// Bytes of a notification's body; beyond it 413.
        package var notificationBody: Int
        /// `server.limits.signInsPerMinute`: sign-in pages, attempts and callbacks per address and minute; beyond it
        /// 429.
        package var signInsPerMinute: Int
        /// `server.limits.exportsPerMinute`: account exports per address and minute; beyond it 429.
        package var exportsPerMinute: Int
        /// Notifications per address and minute that may fail verification; beyond it 429.
        package var failedNotificationsPerMinute: Int
        /// Refused API keys per address and minute; beyond it 429.
        package var refusedKeysPerMinute: Int
        /// `server.limits.operatorPerMinute`: requests for the operator's page per address and minute; beyond it 429.
        package var operatorPerMinute = 240

        package init(
            callbackBody: Int = 65_536, notificationBody: Int = 65_536, signInsPerMinute: Int = 120,
            exportsPerMinute: Int = 120, failedNotificationsPerMinute: Int = 30, refusedKeysPerMinute: Int = 30
        ) {
            self.callbackBody = callbackBody
            self.notificationBody = notificationBody
            self.signInsPerMinute = signInsPerMinute
            self.exportsPerMinute = exportsPerMinute
            self.failedNotificationsPerMinute = failedNotificationsPerMinute
            self.refusedKeysPerMinute = refusedKeysPerMinute
        }
    }

    package var publicURL: PublicURL
    package var site: Site
    package var apple: Apple
    package var login: Login
    package var button: SignInButton
    package var sessions: Sessions
    /// Which fields of a trusted proxy describe the original request of `/auth/verify`.
    package var forwardAuth: OriginalRequest.Style
    /// `forwardAuth.rulesFile`; nil admits everybody who is signed in.
    package var accessRules: AccessRules?
    /// `api.allowedOrigins`: exact origins whose pages may ask who is signed in.
    package var apiOrigins: [String]
    /// `pages.locales`: languages of the pages as BCP 47 tags; the first is the default.
    package var locales: [String]
    /// Files of `pages.directory` that replace embedded ones: path below `Public/` → content.
    package var pageOverrides: [String: [UInt8]]
    package var limits: Limits
    package var accessLog = AccessLog()
    /// `operator.groups`: whose members may open `/operator`; with none, it does not exist.
    package var operatorGroups: [String] = []
    /// `assertion.audience`: the audiences of our assertions; empty makes none.
    package var assertionAudiences: [AssertionAudience]

    package init(
        publicURL: PublicURL, site: Site, apple: Apple, login: Login = Login(), button: SignInButton = SignInButton(),
        sessions: Sessions, forwardAuth: OriginalRequest.Style = .forwarded, accessRules: AccessRules? = nil,
        apiOrigins: [String] = [],
        locales: [String] = ["en"], pageOverrides: [String: [UInt8]] = [:], limits: Limits = Limits(),
        assertionAudiences: [AssertionAudience] = []
    ) {
        self.publicURL = publicURL
        self.site = site
        self.apple = apple
        self.login = login
        self.button = button
        self.sessions = sessions
        self.forwardAuth = forwardAuth
        self.accessRules = accessRules
        self.apiOrigins = apiOrigins
        self.locales = locales
        self.pageOverrides = pageOverrides
        self.limits = limits
        self.assertionAudiences = assertionAudiences
    }
}
