import Accounts
import Coding

/// Who is signed in, as JSON. Never the token, except for the app that signs in, nor the token's hash.
enum SessionDocument {
    /// The document of `GET /api/v1/session`.
    /// - Parameters:
    ///   - token: for the app that has just signed in: a member before the others.
    ///   - result: the first member, in answers that have it.
    static func encode(_ signedIn: SignedIn, token: SessionToken? = nil, result: String? = nil) -> [UInt8] {
        var writer = JSONWriter(reserving: 1024)
        writer.beginObject()
        if let result { writer.member("result", result) }
        if let token { writer.member("token", token.reveal()) }
        writer.name("user")
        writer.write(signedIn.user, User.fieldsOfActive)
        writer.name("session")
        writer.write(signedIn.session, Session.times)
        writer.endObject()
        return writer.bytes
    }
}
