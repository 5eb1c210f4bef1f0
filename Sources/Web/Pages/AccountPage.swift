import Accounts
import Coding

// The values of the pages of an account.
extension PageValue {
    /// The account page, with links to the next page of sessions and, for an operator, to their page.
    static func account(
        of user: User, sessions: AccountSessions, applications: some Collection<ConnectedApplication>, next: String?,
        operatorPage: String? = nil, notice: String?,
        strings: Strings
    ) -> PageValue {
        [
            "user": .person(user, strings: strings),
            "sessions": .list(sessions.items.map { .session($0, current: sessions.current, strings: strings) }),
            "applications": .list(applications.map { .application($0, strings: strings) }),
            "account": [
                "hasSessions": .flag(!sessions.items.isEmpty),
                "hasApplications": .flag(!applications.isEmpty),
                "hasOthers": .flag(sessions.items.contains { $0.id != sessions.current }),
                "next": .optional(next), "operator": .optional(operatorPage), "notice": .optional(notice),
            ],
        ]
    }

    private static func application(_ application: ConnectedApplication, strings: Strings) -> PageValue {
        let name = PlainLine.shown(application.name)
        let received = received(application.scopes, strings: strings)
        return [
            "id": .text(application.client.rawValue), "name": .text(name),
            "host": .optional(application.document.flatMap(host(of:))),
            "endLabel": .text(strings.text("account.endAccessOf", ["application": name])),
            "isTold": .flag(!received.isEmpty || !application.services.isEmpty), "receives": .list(received),
            "services": .list(services(application.services, scopes: application.scopes, strings: strings)),
            "isOffline": .flag(application.isOffline),
            "since": .moment(application.since), "lastUsedAt": .moment(application.lastUsedAt),
        ]
    }

    /// The page before an account's deletion: of a fresh sign-in (`Session.recent`), or with a link to a new one
    /// (`again`); `tellsApple` if there is a token to revoke.
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

    /// The page after the deletion.
    static func deleted(_ apple: DeletionAtApple) -> PageValue {
        ["deletion": ["isTold": .flag(apple == .told), "isUntold": .flag(apple == .untold)]]
    }

    /// The sign-out page; without a validated `returnTo`, our own page then confirms the sign-out.
    static func logout(of user: User, returnTo: String?, strings: Strings) -> PageValue {
        let name = PersonText.displayName(of: user) ?? strings["account.someone"]
        return [
            "user": .person(user, strings: strings),
            "logout": ["lead": strings.html("logout.lead", ["name": name]), "returnTo": .optional(returnTo)],
        ]
    }

    /// The form that is posted again from our own origin, at once, to `address`.
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
        self = deletion.isAppleNotified.map { $0 ? .told : .untold } ?? .unknown
    }
}

/// The sessions on the account page: this browser's first, then by their last use, a page at a time.
struct AccountSessions: Sendable {
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
