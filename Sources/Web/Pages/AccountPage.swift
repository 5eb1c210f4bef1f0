import Accounts

/// The values of the account page.
enum AccountPage {
    /// - Parameter next: the link to the next page of sessions.
    static func values(
        of user: User, sessions: AccountSessions, next: String?, notice: String?, scriptNonce: String,
        strings: Strings?
    ) -> PageValue {
        [
            "page": ["nonce": .text(scriptNonce)],
            "user": PersonText.values(of: user, strings: strings),
            "sessions": .list(
                sessions.items.map { SessionText.values(of: $0, current: sessions.current, strings: strings) }),
            "account": [
                "hasOthers": .flag(sessions.items.contains { $0.id != sessions.current }),
                "next": .optional(next), "notice": .optional(notice),
            ],
        ]
    }
}

/// The values of the page before an account's deletion.
enum AccountDeletionPage {
    /// - Parameters:
    ///   - isFresh: whether the sign-in is recent enough.
    ///   - tellsApple: whether there is a token by which Apple can be told.
    ///   - again: the link to a new sign-in.
    ///   - minutes: the maximum age of a sign-in.
    static func values(
        of user: User, isFresh: Bool, tellsApple: Bool, again: String, minutes: Int64, notice: String?,
        scriptNonce: String,
        strings: Strings?
    ) -> PageValue {
        [
            "page": ["nonce": .text(scriptNonce)],
            "user": PersonText.values(of: user, strings: strings),
            "deletion": [
                "isFresh": .flag(isFresh), "tellsApple": .flag(tellsApple), "account": .text(user.id.rawValue),
                "again": .text(again),
                "notice": .optional(notice),
                "againLead": .text(strings?.text("deletion.againLead", ["count": String(minutes)]) ?? ""),
            ],
        ]
    }

    /// What happens to a deletion at Apple, as in the address of the next page.
    enum Apple: String, CaseIterable, Sendable {
        case told
        /// There was no token left to revoke.
        case untold
        /// Another request deleted the account, and only that one knew.
        case unknown

        init(_ deletion: UserDeletion) {
            switch deletion {
            case .unknown, .conditionFailed, .lastOperator: self = .unknown
            case .deleted: self = deletion.appleIsTold == true ? .told : .untold
            }
        }
    }

    /// The values of the page after it.
    static func deleted(_ apple: Apple) -> PageValue {
        ["deletion": ["isTold": .flag(apple == .told), "isUntold": .flag(apple == .untold)]]
    }
}

/// The values of the sign-out page.
enum LogoutPage {
    /// - Parameter returnTo: validated; nil leads to our own page that confirms the sign-out.
    static func values(of user: User, returnTo: String?, strings: Strings?) -> PageValue {
        let name = PersonText.displayName(of: user) ?? strings?["account.someone"] ?? user.id.rawValue
        return [
            "user": PersonText.values(of: user, strings: strings),
            "logout": [
                "lead": strings?.html("logout.lead", ["name": name]) ?? .text(name), "returnTo": .optional(returnTo),
            ],
        ]
    }
}

/// The form that is posted again from our own origin.
enum RepostPage {
    /// - Parameter address: where the form is posted; it goes on there at once.
    static func values(fields: [(name: String, value: String)], to address: String, scriptNonce: String) -> PageValue {
        [
            "page": ["nonce": .text(scriptNonce), "action": .text(address)],
            "fields": .list(fields.map { ["name": .text($0.name), "value": .text($0.value)] }),
        ]
    }
}
