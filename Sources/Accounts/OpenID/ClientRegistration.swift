package import Coding
package import Crypto

/// A client as described in a file or in the API. Omitted members are as for a new client.
package struct ClientRegistration: Hashable, Sendable {
    package let id: OpenIDClientID
    private var name: String?
    private var isPublic = false
    private var redirectURIs: [String] = []
    private var logoutURIs: [String] = []
    private var backChannelLogoutURI: String?
    private var scopes = OpenIDScope.usual
    private var groups: [String] = []
    private var requiresPKCE = false
    private var needsConsent = false
    private var allowsDevice = false
    /// SHA-256 of its secret.
    private var secret: Digest256?

    /// How long a replaced secret stays valid, in seconds.
    package static let keepOld: Int64 = 7 * 86_400

    /// The `old` client with these changes, or a new one; `made` is the hash of a new secret, if needed.
    package func client(
        replacing old: OpenIDClient?, secret made: Digest256, by author: ClientAuthor, at now: Timestamp
    ) -> OpenIDClient {
        var client = old ?? OpenIDClient(new: id, at: now)
        client.name = name ?? id.rawValue
        client.redirectURIs = redirectURIs
        client.logoutURIs = logoutURIs
        client.nameBackChannel(backChannelLogoutURI, by: author)
        client.scopes = scopes
        client.groups = groups
        client.requiresPKCE = requiresPKCE
        client.needsConsent = needsConsent
        client.allowsDevice = allowsDevice
        if isPublic {
            client.secrets = nil
        } else if let hash = secret ?? (client.secrets == nil ? made : nil), client.secrets?.current != hash {
            client.replaceSecret(by: hash, keepingOldUntil: now.adding(seconds: Self.keepOld), at: now)
        }
        if client != old { client.updatedAt = now }
        return client
    }

    package static let members = [
        "clientID", "name", "public", "redirectURIs", "logoutURIs", "backChannelLogoutURI", "scopes", "groups",
        "requirePKCE", "consent", "device", "clientSecretSHA256",
    ]

    /// A member `clientID` must be `id`. Throws one clause, which names the member without its value.
    package init(_ object: JSONObject, of id: OpenIDClientID) throws(Failure) {
        self.id = id
        for member in object.members {
            switch member.name {
            case "clientID":
                guard member.value.stringValue?.isExactly(id.rawValue) == true else {
                    throw Failure(.invalidRequest, "clientID differs from the address's")
                }
            case "name": name = try Self.text(member)
            case "public": isPublic = try Self.flag(member)
            case "redirectURIs": redirectURIs = try Self.list(member)
            case "logoutURIs": logoutURIs = try Self.list(member)
            case "backChannelLogoutURI": backChannelLogoutURI = member.value.isNull ? nil : try Self.text(member)
            case "groups": groups = try Self.list(member)
            case "requirePKCE": requiresPKCE = try Self.flag(member)
            case "consent": needsConsent = try Self.flag(member)
            case "device": allowsDevice = try Self.flag(member)
            case "scopes":
                let words = try Self.list(member)
                guard words.allSatisfy({ OpenIDScope(rawValue: $0) != nil }) else {
                    throw Failure(.invalidRequest, "scopes has a text that is not a scope")
                }
                scopes = OpenIDScope.parse((words + ["openid"]).joined(separator: " "))
            case "clientSecretSHA256":
                secret = try Self.hash(member)
            default:
                let known = Self.members.joined(separator: ", ")
                throw Failure(.invalidRequest, "there is an unknown member; accepted: \(known)")
            }
        }
        guard !(isPublic && secret != nil) else { throw Failure(.invalidRequest, "a public client has no secret") }
    }

    static func hash(_ member: JSONObject.Member) throws(Failure) -> Digest256 {
        guard let hash = Hexadecimal.decode(try text(member)).flatMap({ Digest256(bytes: $0) }) else {
            throw Failure(.invalidRequest, "\(member.name) must have 64 hexadecimal digits")
        }
        return hash
    }

    static func text(_ member: JSONObject.Member) throws(Failure) -> String {
        guard let text = member.value.stringValue else {
            throw Failure(.invalidRequest, "\(member.name) must be a text")
        }
        return text
    }

    private static func flag(_ member: JSONObject.Member) throws(Failure) -> Bool {
        guard case .bool(let flag) = member.value else {
            throw Failure(.invalidRequest, "\(member.name) must be true or false")
        }
        return flag
    }

    private static func list(_ member: JSONObject.Member) throws(Failure) -> [String] {
        guard let texts = member.value.textsValue else {
            throw Failure(.invalidRequest, "\(member.name) must be a list of texts")
        }
        return texts
    }
}

/// The source of a client's description, which decides whether addresses may be internal.
package enum ClientAuthor: Sendable {
    /// A command or its file.
    case command
    /// The operator's page, whose form returns the values it showed.
    case page
    case api
}

extension OpenIDClient {
    package init(new id: OpenIDClientID, at now: Timestamp) {
        self.init(id: id, name: id.rawValue, redirectURIs: [], createdAt: now, updatedAt: now)
    }

    /// Sets where logout tokens go. An operator may name an internal address; the API may not, because this server would
    /// send the requests. An address that a form or the API repeats keeps its author.
    package mutating func nameBackChannel(_ uri: String?, by author: ClientAuthor) {
        let isRepeated = uri.map { backChannelLogoutURI?.isExactly($0) == true } ?? false
        if !isRepeated || author == .command { backChannelPublicOnly = uri != nil && author == .api }
        backChannelLogoutURI = uri
    }

    /// - Parameter end: of the replaced secret.
    package mutating func replaceSecret(by hash: Digest256, keepingOldUntil end: Timestamp, at now: Timestamp) {
        secrets = .replacing(secrets, by: hash, keepingOldUntil: end, at: now)
        updatedAt = now
    }
}

extension OpenIDClient.Secrets {
    /// - Parameter end: of the replaced secret.
    static func replacing(
        _ old: Self?, by hash: Digest256, keepingOldUntil end: Timestamp, at now: Timestamp
    ) -> Self {
        let former = now < end ? old?.current : nil
        return Self(current: hash, former: former, formerUntil: former == nil ? nil : end)
    }
}
