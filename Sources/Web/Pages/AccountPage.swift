import RelyingParty

/// What the account page shows.
enum AccountPage {
    static func values(
        of user: User, sessions: [Session], current: SessionID, notice: String?, scriptNonce: String,
        strings: Strings?
    ) -> PageValue {
        [
            "page": ["nonce": .text(scriptNonce)],
            "user": PersonText.values(of: user, strings: strings),
            "sessions": .list(sessions.map { SessionText.values(of: $0, current: current, strings: strings) }),
            "account": [
                "hasOthers": .flag(sessions.contains { $0.id != current }), "notice": .optional(notice),
            ],
        ]
    }
}

/// What the page before the end of an account shows.
enum AccountDeletionPage {
    /// - Parameters:
    ///   - isFresh: whether the sign-in is young enough to go on.
    ///   - tellsApple: whether there is a token by which Apple can be told.
    ///   - again: the link to a fresh sign-in.
    ///   - minutes: how old a sign-in may be.
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

    /// What becomes of a deletion at Apple, as the address of the page after it has it.
    enum Apple: String, CaseIterable, Sendable {
        case told
        /// There was no token left to revoke.
        case untold
        /// Another request deleted the account, and only that one knew.
        case unknown

        init(_ deletion: UserDeletion) {
            switch deletion {
            case .unknown, .conditionFailed: self = .unknown
            case .deleted: self = deletion.appleIsTold == true ? .told : .untold
            }
        }
    }

    /// What the page after it shows.
    static func deleted(_ apple: Apple) -> PageValue {
        ["deletion": ["isTold": .flag(apple == .told), "isUntold": .flag(apple == .untold)]]
    }
}

/// What the page with the one button shows.
enum LogoutPage {
    /// - Parameter returnTo: validated; nil leads to our own word that one is signed out.
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
    static func values(fields: [(name: String, value: String)], scriptNonce: String) -> PageValue {
        [
            "page": ["nonce": .text(scriptNonce)],
            "fields": .list(fields.map { ["name": .text($0.name), "value": .text($0.value)] }),
        ]
    }
}
