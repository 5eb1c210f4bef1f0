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
    init(_ failure: WebFailure, locale: String, pages: Pages, configuration: WebConfiguration) {
        let strings = pages.strings(locale)
        func text(_ key: String) -> String { strings?[key] ?? key }
        let signOut = Action(text: text("message.signOut"), link: configuration.publicURL.path("/logout"))
        switch failure {
        case .userPending: self.init(page: "pending", strings, [signOut])
        case .userDisabled: self.init(page: "disabled", strings, [signOut])
        case .notAllowed(_, let target):
            let query = target.map { "?return_to=" + PercentEncoding.encodeComponent($0.location) } ?? ""
            self.init(
                title: text("errors.not_allowed.title"), what: text("errors.not_allowed.what"),
                next: text("errors.not_allowed.next"),
                actions: [
                    Action(text: text("forbidden.somebodyElse"), link: signOut.link + query),
                    Action(text: text("forbidden.account"), link: configuration.publicURL.path("/account")),
                ])
        default:
            self.init(
                title: text("errors.\(failure.code).title"), what: text("errors.\(failure.code).what"),
                next: text("errors.\(failure.code).next"),
                actions: [Self.action(after: failure, strings, configuration.publicURL)])
        }
        if case .signIn(.staleState, _) = failure {
            what = Strings.fill(what, ["lifetime": Self.duration(configuration.login.attemptLifetime, strings)])
        }
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
    private static func action(after failure: WebFailure, _ strings: Strings?, _ url: PublicURL) -> Action {
        func text(_ key: String) -> String { strings?[key] ?? key }
        let login = url.path("/login")
        switch failure {
        case .signIn(_, let retry):
            let target = retry.map { "?return_to=" + PercentEncoding.encodeComponent($0.location) } ?? ""
            return Action(text: text("message.tryAgain"), link: login + target)
        case .tooManyRequests: return Action(text: text("message.tryAgain"), link: login)
        case .routing(.notFound): return Action(text: text("message.home"), link: url.path("/"))
        case .crossSite, .store: return Action(text: text("message.account"), link: url.path("/account"))
        default: return Action(text: text("message.signIn"), link: login)
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
        _ pages: Pages, locale: String, errorID: String? = nil, template: String = "message"
    ) -> [UInt8] {
        pages.render(
            template, locale: locale,
            [
                "message": [
                    "title": .text(title), "what": .text(what), "next": .optional(next.isEmpty ? nil : next),
                    "errorID": .optional(errorID),
                    "actions": .list(
                        actions.enumerated().map { index, action in
                            ["text": .text(action.text), "link": .text(action.link), "primary": .flag(index == 0)]
                        }),
                ]
            ])
    }

    private static func duration(_ seconds: Int64, _ strings: Strings?) -> String {
        if seconds == 60 { return strings?["units.minute"] ?? "" }
        let isWhole = seconds % 60 == 0
        let count = String(isWhole ? seconds / 60 : seconds)
        return strings?.text(isWhole ? "units.minutes" : "units.seconds", ["count": count]) ?? ""
    }
}
