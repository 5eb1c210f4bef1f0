import Accounts
import Coding

// A person's consent at Apple as JSON, with the same members everywhere. Never a token, sealed or not.
extension AccountRecord.Identity {
    /// The API's answer for one user: their state, as in their document, and each identity.
    static func document(_ identities: [Self]) -> ListDocument<Self> {
        ListDocument(
            identities,
            begin: { writer in
                if let credential = identities.credential { writer.members(of: credential, CredentialStatus.fields) }
                writer.name("identities")
            },
            write: { identity, writer in writer.object { identity.writeMembers(to: &$0) } }, end: { _ in })
    }

    /// The identity and its clients, in the open object.
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("teamID", team.rawValue)
        writer.member("subject", subject.rawValue)
        writer.member("transferSubject", transferSubject)
        writer.members(of: credential, CredentialStatus.fields)
        writer.member("lastSignInAt", Self.signIn(lastSignInAt))
        writer.member("createdAt", createdAt)
        writer.name("credentials")
        writer.beginArray()
        for credential in credentials { writer.write(credential, Self.fields) }
        writer.endArray()
    }

    private static let fields: [Field<AccountRecord.Credential>] = [
        Field("clientID") { .code($0.clientID.rawValue) }, Field("state") { .text($0.state) },
        Field("cause") { .text($0.cause) }, Field("issuedAt") { .time(signIn($0.issuedAt)) },
        Field("refreshTokenStored") { .flag($0.holdsToken) },
    ]

    /// Null for an imported person who has not signed in here yet.
    private static func signIn(_ time: Timestamp) -> Timestamp? {
        time == ImportedPerson.signInTime ? nil : time
    }
}
