import Accounts

/// The login page of one language, rendered once at start (about 100 µs) and cut where requests differ.
struct LoginPage: Sendable {
    /// The content of the gaps for one request.
    struct Content: Sendable {
        var state: String
        var nonce: String
        /// For the `Content-Security-Policy`.
        var scriptNonce: String
        /// `return_to` as sent, once validated; nil when there was none.
        var returnTo: String?
        /// `error_return`, passed on.
        var errorReturn: ReturnTarget?
        /// Where a sign-in that is cancelled at Apple leads; nil: a page of ours.
        var cancelled: String?
        var notice: Notice?
    }

    /// A notice above the button.
    enum Notice: Sendable {
        /// Already signed in, with this name.
        case alreadySignedIn(String)
        /// Sent back right after signing in, from this target, to which a link leads.
        case bounced(target: String)
        /// The origin to which the visitor returns.
        case returnsTo(String)
        /// The application that asks who they are, and what it receives: the scopes' names; nil if they decide later.
        case application(String, receives: [String]?)
    }

    private enum Gap: String, CaseIterable {
        case state, nonce, scriptNonce, query, cancelled, notice
        var mark: String { "\u{E000}bramley.\(rawValue)\u{E001}" }
    }

    private enum Part: Sendable {
        case text([UInt8])
        case gap(Gap)
    }

    private let parts: [Part]
    private let size: Int
    private let base: PageValue
    private let askedBase: PageValue
    private let strings: Strings
    private let library: TemplateLibrary

    init(
        locale: String, base: PageValue, askedBase: PageValue, strings: Strings, library: TemplateLibrary,
        configuration: WebConfiguration
    ) throws(PagesError) {
        let values = base.merging(Self.values(locale: locale, configuration: configuration))
        guard let page = library.render(values, withTemplate: "login") else {
            throw .missing("templates/login.mustache")
        }
        parts = Self.cut(page)
        size = page.count
        self.base = base
        self.askedBase = askedBase
        self.strings = strings
        self.library = library
    }

    func render(_ content: Content, locale: PageLocale) -> [UInt8] {
        var page: [UInt8] = []
        page.reserveCapacity(size + 2048)
        for part in parts {
            switch part {
            case .text(let bytes): page.append(contentsOf: bytes)
            case .gap(.state): page.append(contentsOf: HTMLText.escapedBytes(content.state))
            case .gap(.nonce): page.append(contentsOf: HTMLText.escapedBytes(content.nonce))
            case .gap(.scriptNonce): page.append(contentsOf: HTMLText.escapedBytes(content.scriptNonce))
            case .gap(.query):
                page.append(
                    contentsOf: HTMLText.escapedBytes(RequestedReturn.query(content.returnTo, content.errorReturn)))
                if let parameter = locale.parameter { page.append(contentsOf: "&amp;\(parameter)".utf8) }
            case .gap(.cancelled): page.append(contentsOf: HTMLText.escapedBytes(content.cancelled ?? ""))
            case .gap(.notice):
                if let notice = content.notice { page.append(contentsOf: render(notice, locale: locale)) }
            }
        }
        return page
    }

    private func render(_ notice: Notice, locale: PageLocale) -> [UInt8] {
        let base = locale.isAskedFor ? askedBase : base
        return library.render(base.merging(Self.values(of: notice, strings)), withTemplate: "notice") ?? []
    }

    static func values(of notice: Notice, _ strings: Strings) -> PageValue {
        switch notice {
        case .alreadySignedIn(let name):
            return ["notice": ["already": ["text": strings.html("login.already", ["name": name])]]]
        case .bounced(let target): return ["notice": ["bounced": ["target": .text(target)]]]
        case .returnsTo(let origin):
            return ["notice": ["returns": ["text": strings.html("login.afterwards", ["origin": origin])]]]
        case .application(let name, let scopes):
            var told = (scopes ?? []).map { strings["login.programReceives.\($0)"] }
            if scopes?.isEmpty == true { told = [strings["consent.identity"]] }
            return [
                "notice": [
                    "program": [
                        "text": strings.html(scopes == nil ? "login.programAsks" : "login.program", ["program": name]),
                        "isTold": .flag(!told.isEmpty), "receives": .list(told.map { ["text": .text($0)] }),
                    ]
                ]
            ]
        }
    }

    private static func cut(_ bytes: [UInt8]) -> [Part] {
        var parts: [Part] = []
        var text: [UInt8] = []
        let marks = Gap.allCases.map { (gap: $0, mark: Array($0.mark.utf8)) }
        var index = 0
        while index < bytes.count {
            if let found = marks.first(where: { bytes[index...].starts(with: $0.mark) }) {
                parts.append(.text(text))
                parts.append(.gap(found.gap))
                text = []
                index += found.mark.count
            } else {
                text.append(bytes[index])
                index += 1
            }
        }
        parts.append(.text(text))
        return parts
    }

    static func values(locale: String, configuration: WebConfiguration) -> PageValue {
        let apple = configuration.apple
        let appleLocale = PageLocale.appleLocale(of: locale)
        let script = apple.scriptURL.replacing("{locale}", with: appleLocale)
        let pictures = PublicURL.origin(of: apple.scriptURL) ?? ""
        let button = configuration.button
        let lifetime = configuration.signIn.attemptLifetime
        // When an open page requests a new attempt: before half of its life, with room for one failed try.
        let renewal = max(1, lifetime * 2 / 5)
        func picture(_ color: SignInButton.Color) -> String {
            button.pictureURL(origin: pictures, color: color, locale: appleLocale)
        }
        return [
            "page": ["nonce": .html(Gap.scriptNonce.mark)],
            "apple": [
                "clientID": .text(apple.servicesID), "scope": .text(apple.scopes.joined(separator: " ")),
                "redirectURI": .text(configuration.publicURL.callbackURL), "scriptURL": .text(script),
                "opensWindow": .flag(configuration.login.opensWindow),
            ],
            "attempt": [
                "state": .html(Gap.state.mark), "nonce": .html(Gap.nonce.mark), "query": .html(Gap.query.mark),
                "cancelled": .html(Gap.cancelled.mark),
                "notice": .html(Gap.notice.mark), "renewAfter": .text(String(renewal)),
                "lifetime": .text(String(lifetime)),
            ],
            "button": [
                "attributes": .list(button.attributes.map { ["name": .text($0.name), "value": .text($0.value)] }),
                "followsScheme": .flag(button.color == nil),
                "class": .text(button.color?.rawValue ?? "scheme"),
                "cssWidth": .text(button.cssWidth), "cssHeight": .text(button.cssHeight),
                "cssRadius": .text("\(button.borderRadius)px"),
                "image": .text(picture(button.color ?? .black)),
                "darkImage": .optional(button.color == nil ? picture(.white) : nil),
            ],
            "sharing": [
                "nothing": .flag(apple.scopes.isEmpty),
                "name": .flag(apple.scopes == ["name"]),
                "email": .flag(apple.scopes == ["email"]), "both": .flag(apple.scopes.count > 1),
            ],
        ]
    }
}
