import Accounts
import Coding
import Crypto
import HTTP
import HTTPTypes

/// `/api/v1/users` and below: how a backend finds and changes people.
extension WebRoutes {
    // MARK: Reading

    func users(_ request: ServerRequest, _: PathParameters) async throws(Failure) -> ServerResponse {
        let query = try APIQuery(
            request,
            names: ["state", "group", "email", "name", "externalID", "appleSubject", "limit", "after", "cursor"])
        let limit = try query.limit()
        let filter = try Self.filter(query)
        let cursor = try query.place(.users)
        let page = try await find(query, filter, after: cursor, limit: limit)
        return try await responses.list(
            page.items, next: page.next.map(Places.users.text), User.fields, route: "/api/v1/users")
    }

    func user(_ request: ServerRequest, _ parameters: PathParameters) async throws(Failure) -> ServerResponse {
        let document = JSONWriter.encode(try await user(parameters), User.fields)
        let tag = EntityTag(ofUser: document)
        switch ConditionalRequest.evaluate(method: .get, fields: request.fields, eTag: tag) {
        case .proceed: return responses.json(document, fields: [.eTag: tag.fieldValue])
        case .notModified: return responses.empty(.notModified, fields: [.eTag: tag.fieldValue])
        case .preconditionFailed: throw Failure(.preconditionFailed)
        }
    }

    /// The one user whom both look-ups name, if filter and cursor match; without look-ups by other ids, a page.
    private func find(
        _ query: APIQuery, _ filter: UserFilter, after cursor: UserCursor?, limit: Int
    ) async throws(Failure) -> UserPage {
        guard query["externalID"] != nil || query["appleSubject"] != nil else {
            return try await database.users(filter, after: cursor, limit: limit)
        }
        var found: User?
        if let externalID = query["externalID"] { found = try await database.user(externalID: externalID) }
        if let subject = query["appleSubject"] {
            let bySubject = try await database.user(team: configuration.apple.teamID, subject: AppleSubject(subject))
            found = query["externalID"] == nil || found?.id == bySubject?.id ? bySubject : nil
        }
        guard let user = found, filter.accepts(user),
            cursor.map({ ($0.time, $0.id.rawValue) < (user.createdAt, user.id.rawValue) }) ?? true
        else { return UserPage() }
        return UserPage(items: [user])
    }

    private static func filter(_ query: APIQuery) throws(Failure) -> UserFilter {
        var filter = UserFilter()
        if let text = query["state"] {
            guard let state = User.State(rawValue: text) else {
                throw .invalidRequest("state must be active, pending or disabled")
            }
            filter.state = state
        }
        if let group = query["group"] {
            guard isText(group, maximum: UserLimits.groupName), !group.contains(",") else {
                throw .invalidRequest("group is not a valid group name")
            }
            filter.group = group
        }
        if let email = query["email"] {
            // RFC 5321 §4.5.3.1: no address is longer.
            guard isText(email, maximum: 254), email.contains("@") else {
                throw .invalidRequest("email is not an address")
            }
            filter.email = email
        }
        if let name = query["name"] {
            guard isText(name, maximum: 254) else { throw .invalidRequest("invalid name") }
            filter.name = name
        }
        if let externalID = query["externalID"], !isText(externalID, maximum: UserLimits.externalID) {
            throw .invalidRequest("invalid externalID")
        }
        if let subject = query["appleSubject"] {
            guard (1...255).contains(subject.utf8.count), subject.isVisibleASCII else {
                throw .invalidRequest("invalid appleSubject")
            }
        }
        return filter
    }

    /// Whether it can be searched for: few enough characters, as openapi.yaml says, and few enough bytes to be stored.
    private static func isText(_ text: String, maximum: Int) -> Bool {
        (1...maximum).contains(text.unicodeScalars.count) && PlainLine.isPlain(text)
    }

    /// What Apple last reported about each of the user's identities, since when and why.
    func credential(_: ServerRequest, _ parameters: PathParameters) async throws(Failure) -> ServerResponse {
        guard let identities = try await database.identities(of: try Self.id(parameters)) else {
            throw Failure(.userNotFound)
        }
        var response = responses.json([])
        response.body = try await responses.body(
            of: AccountRecord.Identity.document(identities), route: "/api/v1/users/{id}/credential")
        return response
    }

    // MARK: Changing

    /// Returns the user, for a key that may read them; for another one 204.
    func patchUser(
        _ request: ServerRequest, _ parameters: PathParameters, key: APIKey
    ) async throws(Failure) -> ServerResponse {
        var patch = try UserPatch(merging: request)
        patch.protectedGroups = configuration.operatorGroups
        let id = try Self.id(parameters)
        switch try await database.patchUser(id, patch, if: request.userCondition, at: clock.now()) {
        case .patched(let user):
            guard key.scopes.contains(.usersRead) else { return responses.empty(.noContent) }
            let document = JSONWriter.encode(user, User.fields)
            return responses.json(document, fields: [.eTag: EntityTag(ofUser: document).fieldValue])
        case .conditionFailed: throw Failure(.preconditionFailed)
        case .unknown: throw Failure(.userNotFound)
        case .externalIDTaken: throw Failure(.externalIDTaken)
        case .groupProtected, .lastOperator: throw Failure(.operatorGroup)
        }
    }

    /// Deleted here when this answers; Apple is told afterwards, hence 202.
    func deleteUser(_ request: ServerRequest, _ parameters: PathParameters) async throws(Failure) -> ServerResponse {
        let id = try Self.id(parameters)
        let deletion = try await database.deleteUser(id, if: request.userCondition, at: clock.now())
        switch deletion {
        case .deleted: return answer(deletion)
        case .conditionFailed: throw Failure(.preconditionFailed)
        case .unknown: throw Failure(.userNotFound)
        case .lastOperator: throw Failure(.operatorGroup)
        }
    }

    // MARK: Sessions

    func userSessions(_ request: ServerRequest, _ parameters: PathParameters) async throws(Failure) -> ServerResponse {
        let query = try APIQuery(request, names: ["limit", "after"])
        let limit = try query.limit()
        let cursor = try query.place(.sessions)
        let user = try await user(parameters)
        let page = try await database.sessions(of: user.id, by: .newest, after: cursor, limit: limit, at: clock.now())
        return try await responses.list(
            page.items, next: page.next.map(Places.sessions.text), Session.fields, route: "/api/v1/users/{id}/sessions")
    }

    /// With `applications=true`, the access of applications ends too.
    func endUserSessions(
        _ request: ServerRequest, _ parameters: PathParameters
    ) async throws(Failure) -> ServerResponse {
        let applications = try APIQuery(request, names: ["applications"])["applications"]
        guard applications == nil || applications == "true" else { throw .invalidRequest("applications must be true") }
        let id = try Self.id(parameters)
        var count = try await database.endSessions(of: id, except: nil, cause: .revokedByOperator, at: clock.now())
        if applications != nil { count += try await database.endAccess(of: nil, to: id, at: clock.now()) }
        // Nothing ended: nobody was signed in, or there is no such user.
        if count == 0 { _ = try await user(parameters) }
        return responses.empty(.noContent)
    }

    func endUserSession(_: ServerRequest, _ parameters: PathParameters) async throws(Failure) -> ServerResponse {
        let user = try Self.id(parameters)
        guard let id = parameters["session"].flatMap({ SessionID(parsing: $0) }) else {
            throw Failure(.sessionNotFound)
        }
        guard try await database.endSession(id, of: user, cause: .revokedByOperator, at: clock.now()) else {
            throw Failure(.sessionNotFound)
        }
        return responses.empty(.noContent)
    }

    // MARK: Applications

    func userApplications(_: ServerRequest, _ parameters: PathParameters) async throws(Failure) -> ServerResponse {
        guard let applications = try await database.applications(of: try Self.id(parameters), at: clock.now()) else {
            throw Failure(.userNotFound)
        }
        return try await responses.list(
            applications, ConnectedApplication.fields, route: "/api/v1/users/{id}/applications")
    }

    /// Of the application in the path, or of all.
    func endUserAccess(_: ServerRequest, _ parameters: PathParameters) async throws(Failure) -> ServerResponse {
        let (id, named) = (try Self.id(parameters), parameters["client"])
        let client = named.flatMap { OpenIDClientID(parsing: $0) }
        if named != nil, client == nil { throw Failure(.notFound) }
        let count = try await database.endAccess(of: client, to: id, at: clock.now())
        // Nothing ended: it had no access, or there is no such user.
        if count == 0 { _ = try await user(parameters) }
        return responses.empty(.noContent)
    }

    private func user(_ parameters: PathParameters) async throws(Failure) -> User {
        let id = try Self.id(parameters)
        guard let user = try await database.user(id) else { throw Failure(.userNotFound) }
        return user
    }

    /// An invalid id names nobody.
    private static func id(_ parameters: PathParameters) throws(Failure) -> UserID {
        guard let id = parameters["id"].flatMap({ UserID(parsing: $0) }) else { throw Failure(.userNotFound) }
        return id
    }
}

/// The strong validator of a user's representation (RFC 9110 §8.8.1), computed from its bytes.
extension EntityTag {
    /// - Parameter document: with `User.fields`.
    fileprivate init(ofUser document: [UInt8]) { self.init(digest: SHA256.hash(document).bytes) }
}

extension ServerRequest {
    /// The condition on the user, for the transaction that changes them; nil when there is none.
    fileprivate var userCondition: UserCondition? {
        let (method, fields) = (head.method, fields)
        guard fields.contains(.ifMatch) || fields.contains(.ifNoneMatch) else { return nil }
        return { user in
            let tag = EntityTag(ofUser: JSONWriter.encode(user, User.fields))
            return ConditionalRequest.evaluate(method: method, fields: fields, eTag: tag) == .proceed
        }
    }
}

/// The content of `PATCH /api/v1/users/{id}`: a JSON merge patch (RFC 7396) of three members.
extension UserPatch {
    fileprivate init(merging request: ServerRequest) throws(Failure) {
        let object = try JSONBody(request, types: ["application/merge-patch+json", "application/json"]).object
        self.init()
        for member in object.members {
            if member.name.isExactly("externalID") {
                self.externalID = .some(try Self.externalID(member.value))
            } else if member.name.isExactly("groups") {
                self.groups = try Self.groups(member.value)
            } else if member.name.isExactly("state") {
                guard let state = member.value.stringValue.flatMap(User.State.init(rawValue:)) else {
                    throw .invalidRequest("state must be active, pending or disabled")
                }
                self.state = state
            } else {
                throw .invalidRequest(APIQuery.refusal(of: member.name, ["externalID", "groups", "state"], "member"))
            }
        }
    }

    private static func externalID(_ value: JSONValue) throws(Failure) -> String? {
        if value.isNull { return nil }
        guard let text = value.stringValue, UserLimits.accepts(externalID: text) else {
            throw .invalidRequest(
                "externalID is null or 1 to \(UserLimits.externalID) bytes of text without control characters")
        }
        return text
    }

    private static func groups(_ value: JSONValue) throws(Failure) -> [String] {
        guard let names = value.textsValue, UserLimits.accepts(groups: names) else {
            throw .invalidRequest(
                """
                groups is a list of at most \(UserLimits.groups) different names of 1 to \(UserLimits.groupName) bytes \
                without commas, control characters, line separators and spaces at either end; none begins with org:
                """)
        }
        return names
    }
}
