import Coding
import RelyingParty

/// An identity's credential state as JSON: the same three members wherever one is shown.
enum CredentialDocument {
    /// Writes `credentialState`, `credentialChangedAt` and `credentialCause` into the object begun.
    static func members(of credential: CredentialStatus, to writer: inout JSONWriter) {
        writer.member("credentialState", credential.state.rawValue)
        writer.member("credentialChangedAt", credential.changedAt)
        writer.member("credentialCause", credential.cause.rawValue)
    }
}
