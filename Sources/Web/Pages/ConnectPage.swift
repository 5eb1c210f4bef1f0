import Coding
import RelyingParty

/// The page on which an account is connected with Apple: of a link, and of an upgrade whose password was right.
enum ConnectPage {
    enum Kind: Sendable, CaseIterable {
        /// Apple is added.
        case link
        /// Apple takes the place of the password, which the application has checked.
        case upgrade
        /// The same, and the password was checked here, a moment ago.
        case proven
    }

    struct Content: Sendable {
        var kind: Kind
        /// What the application calls its account.
        var account: String?
        /// Who is signed in to Bramley in this browser.
        var signedIn: String?
        var waiting: Waiting?
    }

    /// Somebody who has just signed in with Apple in this browser, and need not do it again.
    struct Waiting: Sendable {
        var name: String?
        var action: String
        /// Where another Apple Account is chosen.
        var other: String
    }

    /// What Apple's button needs.
    struct Button: Sendable {
        var state: String
        var nonce: String
        /// Where the link without scripts leads, without its query.
        var address: String
        var query: String
        /// Where a page that stays open gets a fresh attempt; nil when it cannot.
        var renewal: String?
        /// Of the `Content-Security-Policy`.
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
    ///   - username: as it was typed, when something else was wrong. The password is typed anew.
    ///   - returnTo: `return_to` as it came, once validated.
    ///   - notNow: where it leads.
    ///   - notice: what is wrong, in words.
    static func values(username: String?, returnTo: String?, notNow: String, notice: String?) -> PageValue {
        [
            "upgrade": [
                "username": .optional(username?.isEmpty == true ? nil : username), "returnTo": .optional(returnTo),
                "notNow": .text(notNow), "notice": .optional(notice),
            ]
        ]
    }

    /// - Parameter again: where the password is asked for once more.
    static func codeValues(
        id: UpgradeID, token: UpgradeToken, methods: [String], returnTo: String?, again: String, notice: String?,
        strings: Strings?
    ) -> PageValue {
        let names = methods.map { method -> String in
            // Those that many applications have; any other is shown as the application calls it.
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

    /// Name, else address.
    static func name(of person: WaitingPerson) -> String? {
        person.name.flatMap(PersonText.fullName) ?? person.email?.address
    }
}
