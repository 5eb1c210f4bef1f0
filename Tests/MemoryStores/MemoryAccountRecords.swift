package import Coding
package import RelyingParty
import Synchronization

extension MemoryStore {
    package func accountRecord(of id: UserID, at now: Timestamp) async throws(StoreError) -> AccountRecord? {
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
            return AccountRecord(
                user: person.user, identities: [identity],
                sessions: state.sessions.values.filter { $0.user == id && isLive($0, at: now) }
                    .sorted { ($0.createdAt, $0.id.rawValue) > ($1.createdAt, $1.id.rawValue) },
                notifications: state.told[key.subject] ?? [], events: state.journal.filter { $0.user == id })
        }
    }

    package func identities(of user: UserID) async throws(StoreError) -> [AccountRecord.Identity]? {
        try await accountRecord(of: user, at: Timestamp(milliseconds: 0))?.identities
    }
}
