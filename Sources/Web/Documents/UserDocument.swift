package import Accounts
package import Coding

/// A user as JSON, with the same members in the API, exports and commands.
package enum UserDocument {
    package static func encode(_ user: User, includingState: Bool = true) -> [UInt8] {
        var writer = JSONWriter(reserving: 768)
        write(user, includingState: includingState, to: &writer)
        return writer.bytes
    }

    /// - Parameter includingState: whether to include `state`, for the operator and backends; a page that asks who is
    ///   signed in only ever sees active users.
    package static func write(_ user: User, includingState: Bool = true, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("id", user.id.rawValue)
        if includingState { writer.member("state", user.state.rawValue) }
        writer.member("externalID", user.externalID)
        writer.member("appleSubject", user.appleSubject.rawValue)
        writer.member("email", user.email?.address)
        writer.member("emailVerified", user.email?.isVerified ?? false)
        writer.member("isPrivateEmail", user.email?.isPrivate ?? false)
        writer.member("emailForwarding", user.emailForwarding)
        writer.name("name")
        writer.beginObject()
        writer.member("given", user.name.given)
        writer.member("family", user.name.family)
        writer.endObject()
        writer.member("realUserStatus", user.realUserStatus?.rawValue)
        CredentialDocument.members(of: user.credential, to: &writer)
        writer.name("groups")
        writer.beginArray()
        for group in user.groups { writer.write(group) }
        writer.endArray()
        writer.member("createdAt", user.createdAt)
        writer.endObject()
    }
}
