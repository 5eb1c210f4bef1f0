package import Accounts
package import HTTP

/// All settings of the web side, with their defaults. `ConfigurationTable` lists and validates their keys.
package struct WebConfiguration: Sendable {
    /// `site.*`: the site that the pages represent.
    package struct Site: Sendable {
        package var name = ""
        /// `site.logo`: a path of ours or an https URL. Without it and a file, pages show the name and its first letter.
        package var logo: String?
        package var logoFile: SiteLogo?
        /// Nil keeps the colours of the style sheet.
        package var accentColor: AccentColor?
        package var privacyURL: String?
        package var termsURL: String?
        /// `site.supportURL`: where pages send people who need help; a URL, a path of ours or `mailto:`.
        package var supportURL: String?
        /// `site.homeURL`: the site's start page.
        package var homeURL: String?
    }

    /// The login page's settings for Apple's script.
    package struct Apple: Sendable {
        package var servicesID = ""
        /// The apps that may sign in; with none, the routes for apps do not exist.
        package var bundleIDs: [String] = []
        /// The team to which `sub` belongs.
        package var teamID = TeamID("")
        /// `name`, `email`, both or none.
        package var scopes: [String] = []
        /// Absolute; `{locale}` is replaced by Apple's name of the page's language.
        package var scriptURL =
            "https://appleid.cdn-apple.com/appleauth/static/jsapi/appleid/1/{locale}/appleid.auth.js"
        /// A command-line override replaces Apple by a simulator: every page says so.
        package var isSimulatedByOverride = false
    }

    package struct Login: Sendable {
        /// `login.mode`: whether Apple's page opens in a separate window instead of replacing the login page.
        package var opensWindow = false
        /// Exact origins that `return_to` may name besides `publicURL`; browsers restrict forms to them
        /// (`form-action`).
        package var allowedReturnOrigins: [String] = []
        /// The target of an attempt that names none.
        package var defaultReturnTo = "/account"
        /// The site's own password sign-in, linked next to the button; also used to connect an account.
        package var passwordURL: String?
        /// Where the site's password is changed; `/.well-known/change-password` leads there.
        package var changePasswordURL: String?
    }

    package struct Limits: Sendable {
        /// Bytes of a callback's body; beyond it 413.
        package var callbackBody = 65_536
        /// `server.limits.signInsPerMinute`: sign-in pages, attempts and callbacks per address and minute.
        package var signInsPerMinute = 120
        /// `server.limits.exportsPerMinute`: account exports per address and minute; beyond it 429.
        package var exportsPerMinute = 120
        /// Notifications per address and minute that may fail verification; beyond it 429.
        package var failedNotificationsPerMinute = 30
        /// Refused API keys per address and minute; beyond it 429.
        package var refusedKeysPerMinute = 30
        /// `server.limits.operatorPerMinute`: requests for the operator's page per address and minute; beyond it 429.
        package var operatorPerMinute = 240
    }

    package var publicURL = PublicURL.localhost
    package var site = Site()
    package var apple = Apple()
    package var login = Login()
    package var signIn = SignInConfiguration()
    package var button = SignInButton()
    package var sessionLimits = SessionLimits()
    /// `sessions.cookieDomain`: the parent domain for the session cookie; nil keeps it on this host (`__Host-`).
    package var cookieDomain: String?
    /// `sessions.cacheMemory`: for cached sessions, all loops together, in bytes.
    package var sessionCacheMemory = 67_108_864
    /// `forwardAuth.style`: which fields of a trusted proxy describe the original request of `/auth/verify`.
    package var forwardAuth = OriginalRequest.Style.forwarded
    /// `forwardAuth.rulesFile`; nil admits everybody who is signed in.
    package var accessRules: AccessRules?
    /// `api.allowedOrigins`: exact origins whose pages may ask who is signed in (CORS).
    package var apiOrigins: [String] = []
    /// `pages.locales`: languages of the pages as BCP 47 tags, at least one, all with texts; the first is the default.
    package var locales = PageLanguages.builtIn
    /// Files of `pages.directory` that replace embedded ones: path below `Public/` → content.
    package var pageOverrides: [String: [UInt8]] = [:]
    package var limits = Limits()
    package var accessLog = AccessLog()
    /// `operator.groups`: whose members may open `/operator`; with none, it does not exist.
    package var operatorGroups: [String] = []
    /// `assertion.audience`: the audiences of our assertions; empty makes none.
    package var assertionAudiences: [AssertionAudience] = []

    package init() {}

    package var returnTargets: ReturnTargets {
        ReturnTargets(
            publicURL: publicURL.absolute, allowedOrigins: login.allowedReturnOrigins,
            defaultTarget: login.defaultReturnTo)
    }
}
