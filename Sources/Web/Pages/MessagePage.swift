import Accounts
import Coding

/// A page that says what happened and what to do next, with links to do it.
struct MessagePage: Sendable {
    /// A link that looks like a button, or a form with one button.
    struct Action: Sendable {
        enum Kind: Sendable {
            case link
            /// Posts where to return to afterwards.
            case form(returnTo: String?)
            /// Leads to Apple.
            case apple
        }

        var text: String
        var link: String
        var kind = Kind.link
    }

    var title: String
    var what: String
    var next: String
    /// The first one is emphasised.
    var actions: [Action]
    /// Who is signed in, where the page concerns that.
    var person: PageValue?
}

extension MessagePage {
    init(_ failure: Failure, locale: PageLocale, pages: Pages, configuration: WebConfiguration) {
        let strings = pages.strings(locale)
        let actions =
            Self.actions(after: failure, strings, locale, configuration)
            + Self.help(after: failure, strings, configuration)
        if let page = Self.page(of: failure.code) {
            self.init(page: page, strings, actions)
        } else {
            self.init(
                code: failure.code.rawValue, strings, configuration, actions,
                application: failure.visit?.client?.provenName)
        }
        if let person = failure.visit?.person {
            let name = PersonText.accountName(of: person) ?? strings["account.someone"]
            let isRefused = Self.page(of: failure.code) != nil
            self.person = strings.html(isRefused ? "message.appleAccount" : "logout.lead", ["name": name])
        }
    }

    /// The login page for an address where Bramley's cookies and scripts do not work: a link to Apple.
    init(
        signInReturningTo target: ReturnTarget?, locale: PageLocale, strings: Strings, configuration: WebConfiguration
    ) {
        let query = target.map { "?return_to=" + PercentEncoding.encodeComponent($0.location) } ?? ""
        let apple = Action(
            text: strings["login.button"],
            link: locale.link(configuration.publicURL.path("/login/apple") + query), kind: .apple)
        let password = configuration.login.passwordURL.map { Action(text: strings["login.password"], link: $0) }
        self.init(
            title: strings["login.heading"], what: strings["login.lead"], next: "",
            actions: [apple] + (password.map { [$0] } ?? []))
    }

    /// The page of a failure that is not an error, by its key under `pages` in the strings.
    static func page(of code: ReasonCode) -> String? {
        switch code {
        case .userPending: "pending"
        case .userDisabled: "disabled"
        case .signUpClosed: "closed"
        default: nil
        }
    }

    /// The page of an error code, by its key under `errors` in the strings, and the application that the text may name.
    init(
        code: String, _ strings: Strings, _ configuration: WebConfiguration, _ actions: [Action],
        application: String? = nil
    ) {
        let lifetime = Self.duration(configuration.signIn.attemptLifetime, strings)
        func text(_ name: String) -> String {
            strings.text("errors.\(code).\(name)", ["lifetime": lifetime, "program": application ?? ""])
        }
        self.init(title: text("title"), what: text("what"), next: text("next"), actions: actions)
    }

    /// The same with absolute links.
    func absolute(_ url: PublicURL) -> MessagePage {
        var page = self
        page.actions = actions.map { action in
            var action = action
            if action.link.hasPrefix("/") { action.link = url.origin + action.link }
            return action
        }
        return page
    }

    private static func actions(
        after failure: Failure, _ strings: Strings, _ locale: PageLocale, _ configuration: WebConfiguration
    ) -> [Action] {
        let url = configuration.publicURL
        func action(_ key: String, _ path: String) -> Action {
            Action(text: strings["message.\(key)"], link: locale.link(url.path(path)))
        }
        func otherAccount(returnTo target: ReturnTarget?) -> Action {
            Action(
                text: strings["forbidden.somebodyElse"], link: locale.link(url.path("/logout/switch")),
                kind: .form(returnTo: target?.location))
        }
        let home = home(strings, locale, configuration)
        let visit = failure.visit
        if let link = visit?.link {
            let back = visit?.returnTo.map { Action(text: strings["message.goBack"], link: $0.location) }
            // Replayed: used up by another answer of Apple's, which is on its way to the application.
            let mayHelp = failure.code.isOfSignIn || failure.code == .identityLinkedElsewhere
            guard mayHelp, failure.code != .replayed else { return [back ?? home] }
            return [action("tryAgain", "/link/\(link)")] + (back.map { [$0] } ?? [])
        }
        let target = visit?.returnTo.map { "?" + RequestedReturn.query($0.location, visit?.errorReturn) } ?? ""
        let again = action("tryAgain", "/login" + target)
        switch failure.code {
        case .notAllowed:
            let account = Action(text: strings["forbidden.account"], link: locale.link(url.path("/account")))
            return [otherAccount(returnTo: visit?.returnTo), account]
        case .openIDNotAllowed:
            let other = otherAccount(returnTo: visit?.returnTo)
            guard let declined = visit?.declined else { return [other] }
            let text = strings.text("forbidden.backTo", ["program": visit?.client?.provenName ?? ""])
            return [other, Action(text: text, link: declined)]
        case .openIDClientUnknown, .openIDRedirectRefused, .notFound: return [home]
        case .crossSite, .unavailable: return [action("account", "/account")]
        case .userPending, .userDisabled:
            return visit == nil
                ? [otherAccount(returnTo: nil), action("signOut", "/logout")] : [home, otherAccount(returnTo: nil)]
        case .signUpClosed: return [home]
        case .cancelled where visit != nil: return [again] + back(from: visit, strings, configuration)
        case .tooManyRequests: return [again]
        case .linkUnknown, .linkExpired, .linkEnded: return [visit == nil ? home : again]
        case let code where code.isOfSignIn: return [visit == nil ? home : again]
        default: return [action("signIn", "/login")]
        }
    }

    /// To the site that a visitor who cancelled came from: ours would only ask them to sign in again.
    private static func back(
        from visit: FailedVisit?, _ strings: Strings, _ configuration: WebConfiguration
    ) -> [Action] {
        let origin = visit?.returnTo.flatMap { PublicURL.origin(of: $0.location) } ?? configuration.publicURL.origin
        let isElsewhere = origin != configuration.publicURL.origin || !configuration.publicURL.basePath.isEmpty
        let address = configuration.site.homeURL ?? (isElsewhere ? origin + "/" : nil)
        return address.map { [Action(text: strings["message.goBack"], link: $0)] } ?? []
    }

    /// The site's start page, or ours if none is configured.
    static func home(_ strings: Strings, _ locale: PageLocale, _ configuration: WebConfiguration) -> Action {
        Action(
            text: strings["message.home"],
            link: configuration.site.homeURL ?? locale.link(configuration.publicURL.path("/")))
    }

    /// A link to `site.supportURL`, for pages that refer to the people who run the site.
    static func help(_ strings: Strings, _ configuration: WebConfiguration) -> [Action] {
        configuration.site.supportURL.map { [Action(text: strings["message.help"], link: $0)] } ?? []
    }

    /// A visitor who cancelled, was too fast or mistyped an address needs no help.
    private static func help(
        after failure: Failure, _ strings: Strings, _ configuration: WebConfiguration
    ) -> [Action] {
        switch failure.code {
        case .cancelled, .notFound, .methodNotAllowed: []
        case .tooManyRequests where failure.visit?.link == nil: []
        // A path, not a parameter.
        case .badRequest where failure.explanation == nil: []
        default: help(strings, configuration)
        }
    }

    /// A page that is not a failure, by its key under `pages` in the strings.
    init(page key: String, _ strings: Strings, _ actions: [Action]) {
        self.init(
            title: strings["pages.\(key).title"], what: strings["pages.\(key).what"],
            next: strings["pages.\(key).next"], actions: actions)
    }

    /// - Parameter template: `message`, or `standalone` for one that needs no other file.
    func render(_ pages: Pages, locale: PageLocale, errorID: String? = nil, template: String = "message") -> [UInt8] {
        pages.render(template, locale: locale, values(errorID: errorID))
    }

    /// - Parameter errorID: as in the log; nil when there is nothing to look up.
    func values(errorID: String?) -> PageValue {
        [
            "message": [
                "title": .text(title), "what": .text(what), "next": .optional(next.isEmpty ? nil : next),
                "person": person ?? .optional(nil), "errorID": .optional(errorID),
                "actions": .list(actions.enumerated().map { index, action in action.values(isFirst: index == 0) }),
            ]
        ]
    }

    static func duration(_ seconds: Int64, _ strings: Strings) -> String {
        if seconds == 60 { return strings["units.minute"] }
        let isWhole = seconds % 60 == 0
        let count = String(isWhole ? seconds / 60 : seconds)
        return strings.text(isWhole ? "units.minutes" : "units.seconds", ["count": count])
    }
}

extension MessagePage.Action {
    fileprivate func values(isFirst: Bool) -> PageValue {
        var (isForm, isApple, returnTo) = (false, false, String?.none)
        switch kind {
        case .link: break
        case .form(let target): (isForm, returnTo) = (true, target)
        case .apple: isApple = true
        }
        return [
            "text": .text(text), "link": .text(link), "primary": .flag(isFirst && !isApple), "form": .flag(isForm),
            "apple": .flag(isApple), "returnTo": .optional(returnTo),
        ]
    }
}
