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
        for credential in identity.credentials {
            writer.beginObject()
            writer.member("clientID", credential.clientID.rawValue)
            writer.member("state", credential.state)
            writer.member("cause", credential.cause)
            writer.member("issuedAt", signIn(credential.issuedAt))
            writer.member("refreshTokenStored", credential.holdsToken)
            writer.endObject()
        }
        writer.endArray()
    }

    /// Null for an imported person who has not signed in here yet.
    private static func signIn(_ time: Timestamp) -> Timestamp? {
        time == ImportedPerson.signInTime ? nil : time
    }
}
