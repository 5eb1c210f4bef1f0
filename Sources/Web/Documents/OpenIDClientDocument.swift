package import Accounts
package import Coding

/// A client of the OpenID provider as JSON, without its secret.
package enum OpenIDClientDocument {
    /// - Parameter secret: the one time it is shown: a member `clientSecret` behind `clientID`.
    package static func write(
        _ client: OpenIDClient, secret: OpenIDClientSecret? = nil, to writer: inout JSONWriter
    ) {
        writer.beginObject()
        writer.member("clientID", client.id.rawValue)
        if let secret { writer.member("clientSecret", secret.reveal()) }
        writer.member("name", client.name)
        writer.member("public", client.isPublic)
        writer.member("redirectURIs", client.redirectURIs)
        writer.member("logoutURIs", client.logoutURIs)
        writer.member("backChannelLogoutURI", client.backChannelLogoutURI)
        writer.member("backChannelPublicOnly", client.backChannelPublicOnly)
        writer.member("scopes", client.scopes.map(\.rawValue))
        writer.member("groups", client.groups)
        writer.member("requirePKCE", client.requiresPKCE)
        writer.member("formerSecretUntil", client.secrets?.formerUntil)
        writer.member("createdAt", client.createdAt)
        writer.member("updatedAt", client.updatedAt)
        writer.member("lastUsedAt", client.lastUsedAt)
        writer.member("lastRefusedAt", client.lastRefusedAt)
        writer.endObject()
    }
}

extension JSONWriter {
    fileprivate mutating func member(_ name: String, _ texts: [String]) {
        self.name(name)
        beginArray()
        for text in texts { write(text) }
        endArray()
    }
}
