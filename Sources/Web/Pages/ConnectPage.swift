import Coding
import RelyingParty

/// The page on which an account is connected with Apple: for a link, and for an upgrade after the password.
enum ConnectPage {
    enum Kind: Sendable, CaseIterable {
        /// Apple is added.
        case link
        /// Apple replaces the password, which the application has verified.
        case upgrade
        /// The same, and the password was verified here a moment ago.
        case proven
    }

    struct Content: Sendable {
        var kind: Kind
        /// The application's name of its account.
        var account: String?
        /// Who is signed in to Bramley in this browser.
        var signedIn: String?
        var waiting: Waiting?
    }

    /// Somebody who has just signed in with Apple in this browser, and need not do so again.
    struct Waiting: Sendable {
        var name: String?
        var action: String
        /// Where to choose another Apple Account.
        var other: String
    }

    /// Settings of Apple's button.
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

    static func values(
        _ content: Content, button: Button?, locale: PageLocale, strings: Strings?, configuration: WebConfiguration
    ) -> PageValue {
        func text(_ key: String) -> PageValue { .text(strings?["connect.\(key)"] ?? key) }
        let heading =
            content.kind == .link ? "linkHeading" : content.kind == .upgrade ? "upgradeHeading" : "provenHeading"
        let lead = content.kind == .link ? "linkLead" : content.kind == .upgrade ? "upgradeLead" : "provenLead"
        let person: PageValue = .optional(content.waiting.map { $0.name ?? strings?["connect.justNow"] ?? "" })
        let own: PageValue = [
            "connect": [
                "heading": text(heading), "lead": text(lead),
                "account": .optional(content.account), "person": person,
                "signedIn": content.signedIn.flatMap { strings?.html("connect.signedIn", ["name": $0]) } ?? false,
                "action": .optional(content.waiting?.action), "other": .optional(content.waiting?.other),
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

/// The pages of an upgrade before Apple.
enum UpgradePage {
    /// - Parameters:
    ///   - username: as typed, when something else was wrong. The password must be typed again.
    ///   - returnTo: `return_to` as sent, once validated.
    ///   - notNow: its target.
    ///   - notice: what is wrong, in words.
    static func values(username: String?, returnTo: String?, notNow: String, notice: String?) -> PageValue {
        [
            "upgrade": [
                "username": .optional(username?.isEmpty == true ? nil : username), "returnTo": .optional(returnTo),
                "notNow": .text(notNow), "notice": .optional(notice),
            ]
        ]
    }

    /// - Parameter again: where to enter the password again.
    static func codeValues(
        id: UpgradeID, token: UpgradeToken, methods: [String], returnTo: String?, again: String, notice: String?,
        strings: Strings?
    ) -> PageValue {
        let names = methods.map { method -> String in
            // Common methods; any other is shown under the application's name.
            let key = "upgrade.methods.\(method.lowercased())"
            return strings?.has(key) == true ? strings?[key] ?? method : method
        }
        return [
            "upgrade": [
                "id": .text(id.rawValue), "token": .text(token.reveal()), "returnTo": .optional(returnTo),
                "again": .text(again), "notice": .optional(notice),
                "methods": .list(names.map { ["name": .text($0)] }), "hasMethods": .flag(!names.isEmpty),
            ]
        ]
    }
}

/// "Already have an account?"
enum ExistingAccountPage {
    static func values(waiting: WaitingID, name: String?, strings: Strings?) -> PageValue {
        [
            "existing": [
                "waiting": .text(waiting.rawValue),
                "name": name.flatMap { strings?.html("existing.signedIn", ["name": $0]) } ?? false,
            ]
        ]
    }

    /// Name, otherwise address.
    static func name(of person: WaitingPerson) -> String? {
        person.name?.full ?? person.email?.address
    }
}
