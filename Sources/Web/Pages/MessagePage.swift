import Coding
import HTTP
import RelyingParty

/// A page that says what happened, what to do next, and offers it.
struct MessagePage: Sendable {
    /// A link that looks like a button.
    struct Action: Sendable {
        var text: String
        var link: String
    }

    var title: String
    var what: String
    var next: String
    /// The first one stands out.
    var actions: [Action]

    /// The page of a failure.
    init(_ failure: WebFailure, locale: PageLocale, pages: Pages, configuration: WebConfiguration) {
        let strings = pages.strings(locale)
        let actions = Self.actions(after: failure, strings, locale, configuration.publicURL)
        if let page = Self.page(of: failure) {
            self.init(page: page, strings, actions)
            return
        }
        switch failure {
        case .notAllowed(_, let target):
            let query = target.map { "?return_to=" + PercentEncoding.encodeComponent($0.location) } ?? ""
            func action(_ key: String, _ path: String) -> Action {
                Action(
                    text: strings?["forbidden.\(key)"] ?? key,
                    link: locale.link(configuration.publicURL.path(path)))
            }
            self.init(
                code: failure.code, strings, configuration,
                [action("somebodyElse", "/logout" + query), action("account", "/account")])
        default: self.init(code: failure.code, strings, configuration, actions)
        }
    }

    /// The page of a failure that is no error of anybody's, by its key below `pages` in the strings.
    static func page(of failure: WebFailure) -> String? {
        switch failure {
        case .userPending, .link(.userPending, _): "pending"
        case .userDisabled, .link(.userDisabled, _): "disabled"
        // Connected, and the password is still to go.
        case .link(.conversionFailed(.some), _): "conversion_pending"
        // Apple has taken the password's place, and whoever asks came too late for the session.
        case .link(.completed, _): "conversion_done"
        default: nil
        }
    }

    /// The page of an error code, by its key below `errors` in the strings.
    init(code: String, _ strings: Strings?, _ configuration: WebConfiguration, _ actions: [Action]) {
        let lifetime = Self.duration(configuration.login.attemptLifetime, strings)
        func text(_ name: String) -> String {
            let key = "errors.\(code).\(name)"
            return strings?.text(key, ["lifetime": lifetime]) ?? key
        }
        self.init(title: text("title"), what: text("what"), next: text("next"), actions: actions)
    }

    private init(title: String, what: String, next: String, actions: [Action]) {
        self.title = title
        self.what = what
        self.next = next
        self.actions = actions
    }

    /// The same with links that lead to us from anywhere.
    func absolute(_ url: PublicURL) -> MessagePage {
        var page = self
        page.actions = actions.map { action in
            Action(text: action.text, link: action.link.hasPrefix("/") ? url.origin + action.link : action.link)
        }
        return page
    }

    /// What a visitor does next.
    private static func actions(
        after failure: WebFailure, _ strings: Strings?, _ locale: PageLocale, _ url: PublicURL
    ) -> [Action] {
        func action(_ key: String, _ path: String) -> Action {
            Action(text: strings?["message.\(key)"] ?? key, link: locale.link(url.path(path)))
        }
        switch failure {
        case .signIn(_, let retry), .tooManyRequests(_, let retry):
            let target = retry.map { "?return_to=" + PercentEncoding.encodeComponent($0.target.location) } ?? ""
            return [action("tryAgain", "/login" + target)]
        case .link(let failure, let way): return actions(after: failure, way, strings, locale, url)
        case .routing(.notFound): return [action("home", "/")]
        case .crossSite, .store: return [action("account", "/account")]
        case .userPending, .userDisabled: return [action("signOut", "/logout")]
        default: return [action("signIn", "/login")]
        }
    }

    /// What somebody does next whose account was not connected: try again where that can help, and go back to where they
    /// came from.
    private static func actions(
        after failure: LinkFailure, _ way: LinkWay?, _ strings: Strings?, _ locale: PageLocale, _ url: PublicURL
    ) -> [Action] {
        func action(_ key: String, _ path: String) -> Action {
            Action(text: strings?["message.\(key)"] ?? key, link: locale.link(url.path(path)))
        }
        guard let way, failure != .notConfigured else { return [action("home", "/")] }
        let query = way.returnTo.map { "?return_to=" + PercentEncoding.encodeComponent($0.location) } ?? ""
        let back = way.returnTo.map { Action(text: strings?["message.goBack"] ?? "", link: $0.location) }
        let home = action("home", "/")
        if let link = way.link?.link {
            let again = action("tryAgain", "/link/\(link)")
            switch failure {
            // Used up by another answer of Apple's, which is on its way to the application.
            case .signIn(.replayed): return [back ?? home]
            case .signIn, .storage, .identityLinkedElsewhere, .tooMany: return [again] + (back.map { [$0] } ?? [])
            default: return [back ?? home]
            }
        }
        // Of an upgrade, or of the question whether there is an account.
        if way.link == nil, way.returnTo == nil { return [action("tryAgain", "/login")] }
        switch failure {
        case .conversionFailed(.some), .completed, .accountAlreadyLinked: return [action("signIn", "/login" + query)]
        case .conversionFailed, .userPending, .userDisabled: return [back ?? home]
        default: return [action("tryAgain", "/upgrade" + query)] + (back.map { [$0] } ?? [])
        }
    }

    /// One of the pages that are no failures, by its key below `pages` in the strings.
    init(page key: String, _ strings: Strings?, _ actions: [Action]) {
        title = strings?["pages.\(key).title"] ?? key
        what = strings?["pages.\(key).what"] ?? ""
        next = strings?["pages.\(key).next"] ?? ""
        self.actions = actions
    }

    /// - Parameter template: `message`, or `standalone` for one that needs no other file.
    func render(
        _ pages: Pages, locale: PageLocale, errorID: String? = nil, template: String = "message"
    ) -> [UInt8] {
        pages.render(template, locale: locale, values(errorID: errorID))
    }

    /// - Parameter errorID: what the log has as well; nil when there is nothing to look up.
    func values(errorID: String?) -> PageValue {
        [
            "message": [
                "title": .text(title), "what": .text(what), "next": .optional(next.isEmpty ? nil : next),
                "errorID": .optional(errorID),
                "actions": .list(
                    actions.enumerated().map { index, action in
                        ["text": .text(action.text), "link": .text(action.link), "primary": .flag(index == 0)]
                    }),
            ]
        ]
    }

    static func duration(_ seconds: Int64, _ strings: Strings?) -> String {
        if seconds == 60 { return strings?["units.minute"] ?? "" }
        let isWhole = seconds % 60 == 0
        let count = String(isWhole ? seconds / 60 : seconds)
        return strings?.text(isWhole ? "units.minutes" : "units.seconds", ["count": count]) ?? ""
    }
}
