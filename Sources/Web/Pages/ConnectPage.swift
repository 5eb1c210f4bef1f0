import Accounts

/// The page on which an account is connected with Apple.
struct ConnectPage: Sendable {
    var kind: LinkKind
    /// The application's name for the account.
    var account: String?
    /// Who is signed in to Bramley in this browser.
    var signedIn: String?
    var waiting: Waiting?

    /// A person who has just signed in with Apple in this browser and need not do so again.
    struct Waiting: Sendable {
        var name: String?
        var action: String
        /// Where to choose another Apple Account.
        var other: String
    }

    struct Button: Sendable {
        var state: String
        var nonce: String
        /// The target of the link without scripts, without its query.
        var address: String
        var query: String
        /// Where an open page gets a new attempt; nil when it cannot.
        var renewal: String?
        /// For the `Content-Security-Policy`.
        var scriptNonce: String
    }

    func values(button: Button?, locale: PageLocale, strings: Strings, configuration: WebConfiguration) -> PageValue {
        func text(_ key: String) -> PageValue { .text(strings["connect.\(key)"]) }
        let person: PageValue = .optional(waiting.map { $0.name ?? strings["connect.justNow"] })
        let own: PageValue = [
            "connect": [
                "heading": text("\(kind.rawValue)Heading"), "lead": text("\(kind.rawValue)Lead"),
                "account": .optional(account), "person": person,
                "signedIn": signedIn.map { strings.html("connect.signedIn", ["name": $0]) } ?? false,
                "action": .optional(waiting?.action), "other": .optional(waiting?.other),
            ]
        ]
        guard let button else { return own }
        return LoginPage.values(locale: locale.tag, configuration: configuration).merging(own).merging([
            "page": ["nonce": .text(button.scriptNonce)],
            "attempt": [
                "state": .text(button.state), "nonce": .text(button.nonce),
                "query": .text(button.query), "cancelled": false, "notice": false,
            ],
            "links": ["apple": .text(button.address), "attempt": .optional(button.renewal)],
        ])
    }
}

extension PageValue {
    /// "Already have an account?"
    static func existing(waiting: WaitingID, name: String?, strings: Strings) -> PageValue {
        [
            "existing": [
                "waiting": .text(waiting.rawValue),
                "name": name.map { strings.html("existing.signedIn", ["name": $0]) } ?? false,
            ]
        ]
    }
}
