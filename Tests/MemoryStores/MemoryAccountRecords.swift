package import Coding
package import RelyingParty
import Synchronization

extension MemoryStore {
    package func accountRecord(
        of id: UserID, newest count: Int, at now: Timestamp
    ) async throws(StoreError) -> AccountRecord? {
        try read { state in
            guard let (key, person) = state.people.first(where: { $0.value.user.id == id }) else { return nil }
            let credentials = (state.credentials[key] ?? [:]).map { client, credential in
                AccountRecord.Credential(
                    clientID: client, state: "authorized", cause: nil, issuedAt: credential.issuedAt, holdsToken: true)
            }
            let identity = AccountRecord.Identity(
                team: key.team, subject: key.subject, credential: person.user.credential,
                lastSignInAt: person.lastSignIn, createdAt: person.user.createdAt,
                credentials: credentials.sorted { $0.clientID.rawValue < $1.clientID.rawValue },
                unfinishedName: state.firstConsents[key])
            let sessions = state.sessions.values.filter { $0.user == id && isLive($0, at: now) }
                .sorted { ($0.createdAt, $0.id.rawValue) > ($1.createdAt, $1.id.rawValue) }
            return AccountRecord(
                user: person.user, identities: [identity], sessions: Array(sessions.prefix(count)),
                notifications: Array((state.told[key.subject] ?? []).reversed().prefix(count)),
                events: Array(state.journal.filter { $0.user == id }.reversed().prefix(count)))
        }
    }

    /// All in one page.
    package func accountPage(
        _ list: AccountList, of user: UserID, after place: AccountPlace?, limit: Int, at now: Timestamp
    ) async throws(StoreError) -> AccountPage? {
        guard let record = try await accountRecord(of: user, newest: .max, at: now) else { return nil }
        let items: [AccountItem] =
            switch list {
            case .sessions: record.sessions.map { .session($0) }
            case .programs, .programSessions: []
            case .notifications: record.notifications.reversed().map { .notification($0) }
            case .events: record.events.reversed().map { .event($0) }
            }
        return AccountPage(items: items, next: nil)
    }

    package func identities(of user: UserID) async throws(StoreError) -> [AccountRecord.Identity]? {
        try await accountRecord(of: user, newest: 0, at: Timestamp(milliseconds: 0))?.identities
    }
}
