import Accounts
import Coding
import Storage

// The values of the pages of an account.
extension PageValue {
    /// The account page.
    /// - Parameter next: the link to the next page of sessions.
    static func account(
        of user: User, sessions: AccountSessions, next: String?, notice: String?, strings: Strings
    ) -> PageValue {
        [
            "user": .person(user, strings: strings),
            "sessions": .list(
                sessions.items.map { .session($0, current: sessions.current, strings: strings) }),
            "account": [
                "hasOthers": .flag(sessions.items.contains { $0.id != sessions.current }),
                "next": .optional(next), "notice": .optional(notice),
            ],
        ]
    }

    /// The page before an account's deletion.
    /// - Parameters:
    ///   - isFresh: whether the sign-in is at most `Session.recent` old.
    ///   - tellsApple: whether there is a token by which Apple can be told.
    ///   - again: the link to a new sign-in.
    static func deletion(
        of user: User, isFresh: Bool, tellsApple: Bool, again: String, notice: String?, strings: Strings
    ) -> PageValue {
        [
            "user": .person(user, strings: strings),
            "deletion": [
                "isFresh": .flag(isFresh), "tellsApple": .flag(tellsApple), "account": .text(user.id.rawValue),
                "again": .text(again),
                "notice": .optional(notice),
                "againLead": .text(strings.text("deletion.againLead", ["count": String(Session.recent / 60)])),
            ],
        ]
    }

    /// The page after it.
    static func deleted(_ apple: DeletionAtApple) -> PageValue {
        ["deletion": ["isTold": .flag(apple == .told), "isUntold": .flag(apple == .untold)]]
    }

    /// The sign-out page.
    /// - Parameter returnTo: validated; nil leads to our own page that confirms the sign-out.
    static func logout(of user: User, returnTo: String?, strings: Strings) -> PageValue {
        let name = PersonText.displayName(of: user) ?? strings["account.someone"]
        return [
            "user": .person(user, strings: strings),
            "logout": [
                "lead": strings.html("logout.lead", ["name": name]), "returnTo": .optional(returnTo),
            ],
        ]
    }

    /// The form that is posted again from our own origin.
    /// - Parameter address: where the form is posted; it goes on there at once.
    static func repost(fields: [(name: String, value: String)], to address: String) -> PageValue {
        ["page": ["action": .text(address)], "fields": .hidden(fields)]
    }

    /// The same for a page with scripts of its own, which have this nonce.
    func scripted(_ nonce: String) -> PageValue { merging(["page": ["nonce": .text(nonce)]]) }
}

/// What happens to a deletion at Apple, as in the address of the next page.
enum DeletionAtApple: String, CaseIterable, Sendable {
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

/// The sessions on the account page: this browser's first, then by their last use, a page at a time.
struct AccountSessions: Sendable {
    /// Sessions on a page.
    static let pageSize = 25

    var current: SessionID
    var items: [Session]
    /// Where the next page begins; nil at the end.
    var next: SessionCursor?

    /// - Parameter place: where the page before ended; nil for the first, which begins with this browser.
    static func read(
        of signedIn: SignedIn, after place: SessionCursor?, from database: Database, at now: Timestamp
    ) async throws(Failure) -> AccountSessions {
        let page = try await database.sessions(
            of: signedIn.user.id, by: .lastUsed, after: place, limit: pageSize, at: now)
        let current = signedIn.session.id
        let others = page.items.filter { $0.id != current }
        guard place == nil else { return AccountSessions(current: current, items: others, next: page.next) }
        let shown = others.prefix(pageSize - 1)
        let isLast = page.next == nil && shown.count == others.count
        return AccountSessions(
            current: current, items: [signedIn.session] + shown,
            next: isLast ? nil : shown.last.map { SessionCursor($0, by: .lastUsed) })
    }
}
