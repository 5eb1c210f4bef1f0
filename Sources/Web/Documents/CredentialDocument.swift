import Accounts
import Coding

/// A person's consent at Apple as JSON, with the same members everywhere. Never a token, sealed or not.
enum CredentialDocument {
    /// The API's answer for one user: their state, as in their document, and each identity.
    static func document(_ identities: [AccountRecord.Identity]) -> ListDocument<AccountRecord.Identity> {
        ListDocument(
            identities,
            begin: { writer in
                if let credential = identities.credential { writer.members(of: credential, CredentialStatus.fields) }
                writer.name("identities")
            },
            write: { identity, writer in
                writer.beginObject()
                members(of: identity, to: &writer)
                writer.endObject()
            }, end: { _ in })
    }

    /// Writes an identity and its clients into the open object.
    static func members(of identity: AccountRecord.Identity, to writer: inout JSONWriter) {
        writer.member("teamID", identity.team.rawValue)
        writer.member("subject", identity.subject.rawValue)
        writer.member("transferSubject", identity.transferSubject)
        writer.members(of: identity.credential, CredentialStatus.fields)
        writer.member("lastSignInAt", signIn(identity.lastSignInAt))
        writer.member("createdAt", identity.createdAt)
        writer.name("credentials")
        writer.beginArray()
        for credential in identity.credentials { writer.write(credential, fields) }
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
