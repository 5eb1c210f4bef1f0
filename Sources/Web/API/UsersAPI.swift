import Accounts
import Coding
import HTTP
import HTTPTypes
import Storage

/// `/api/v1/users` and below: how a backend finds and changes people.
struct UsersAPI: Sendable {
    let team: TeamID
    let responses: WebResponses
    let database: Database
    let clock: any WallClock
    /// `operator.groups`, which no API key gives or takes.
    let operatorGroups: [String]

    // MARK: Reading

    func list(_ request: ServerRequest, _: PathParameters) async throws(WebFailure) -> ServerResponse {
        let query = try APIQuery(
            request, names: ["state", "group", "email", "externalID", "appleSubject", "limit", "after", "cursor"])
        let limit = try query.limit()
        let filter = try Self.filter(query)
        let cursor = try query.place(.users)
        let page = try await WebFailure.mapping(await find(query, filter, after: cursor, limit: limit))
        return try await responses.list(
            page.items, next: page.next.map(Places.users.text), User.fields, route: "/api/v1/users")
    }

    func get(_ request: ServerRequest, _ parameters: PathParameters) async throws(WebFailure) -> ServerResponse {
        _ = try APIQuery(request)
        let document = JSONWriter.encode(try await user(parameters), User.fields)
        let tag = UserTag(document)
        switch ConditionalRequest.evaluate(method: .get, fields: request.fields, eTag: tag.value) {
        case .proceed: return responses.json(document, fields: tag.field)
        case .notModified: return responses.empty(.notModified, fields: tag.field)
        case .preconditionFailed: throw WebFailure(.preconditionFailed)
        }
    }

    /// The one user whom both look-ups name, if filter and cursor match. A look-up by an id of the application or of
    /// Apple has at most one result; everything else is a page.
    private func find(
        _ query: APIQuery, _ filter: UserFilter, after cursor: UserCursor?, limit: Int
    ) async throws(StoreError) -> UserPage {
        guard query["externalID"] != nil || query["appleSubject"] != nil else {
            return try await database.users(filter, after: cursor, limit: limit)
        }
        var found: User?
        if let externalID = query["externalID"] { found = try await database.user(externalID: externalID) }
        if let subject = query["appleSubject"] {
            let bySubject = try await database.user(team: team, subject: AppleSubject(subject))
            found = query["externalID"] == nil || found?.id == bySubject?.id ? bySubject : nil
        }
        guard let user = found, filter.accepts(user),
            cursor.map({ ($0.createdAt, $0.id.rawValue) < (user.createdAt, user.id.rawValue) }) ?? true
        else { return UserPage() }
        return UserPage(items: [user])
    }

    private static func filter(_ query: APIQuery) throws(WebFailure) -> UserFilter {
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
        if let externalID = query["externalID"], !isText(externalID, maximum: UserLimits.externalID) {
            throw .invalidRequest("invalid externalID")
        }
        if let subject = query["appleSubject"] {
            guard (1...255).contains(subject.utf8.count), subject.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw .invalidRequest("invalid appleSubject")
            }
        }
        return filter
    }

    /// Whether it can be searched for: in characters, as in the description. A text with too many bytes to be stored
    /// belongs to nobody.
    private static func isText(_ text: String, maximum: Int) -> Bool {
        (1...maximum).contains(text.unicodeScalars.count)
            && PlainLine.isPlain(text)
    }

    // MARK: Changing

    /// Returns the user, for a key that may read them; for another one 204.
    func patch(
        _ request: ServerRequest, _ parameters: PathParameters, key: APIKey
    ) async throws(WebFailure) -> ServerResponse {
        _ = try APIQuery(request)
        var patch = try UserPatchBody.parse(request)
        patch.protectedGroups = operatorGroups
        let id = try Self.id(parameters)
        let result = try await WebFailure.mapping(
            await database.patchUser(id, patch, if: UserTag.condition(of: request), at: clock.now()))
        switch result {
        case .patched(let user):
            guard key.scopes.contains(.usersRead) else { return responses.empty(.noContent) }
            let document = JSONWriter.encode(user, User.fields)
            return responses.json(document, fields: UserTag(document).field)
        case .conditionFailed: throw WebFailure(.preconditionFailed)
        case .unknown: throw WebFailure(.userNotFound)
        case .externalIDTaken: throw WebFailure(.externalIDTaken)
        case .groupProtected, .lastOperator: throw WebFailure(.operatorGroup)
        }
    }

    /// Deleted here when this answers; Apple is told afterwards, hence 202.
    func delete(_ request: ServerRequest, _ parameters: PathParameters) async throws(WebFailure) -> ServerResponse {
        _ = try APIQuery(request)
        let id = try Self.id(parameters)
        let deletion = try await WebFailure.mapping(
            await database.deleteUser(id, if: UserTag.condition(of: request), at: clock.now()))
        switch deletion {
        case .deleted: return responses.json(DeletionDocument.encode(deletion), status: .accepted)
        case .conditionFailed: throw WebFailure(.preconditionFailed)
        case .unknown: throw WebFailure(.userNotFound)
        case .lastOperator: throw WebFailure(.operatorGroup)
        }
    }

    // MARK: Their sessions

    func sessions(_ request: ServerRequest, _ parameters: PathParameters) async throws(WebFailure) -> ServerResponse {
        let query = try APIQuery(request, names: ["limit", "after"])
        let limit = try query.limit()
        let cursor = try query.place(.sessions)
        let user = try await user(parameters)
        let page = try await WebFailure.mapping(
            await database.sessions(of: user.id, by: .newest, after: cursor, limit: limit, at: clock.now()))
        return try await responses.list(
            page.items, next: page.next.map(Places.sessions.text), Session.fields,
            route: "/api/v1/users/{id}/sessions")
    }

    func endSessions(_ request: ServerRequest, _ parameters: PathParameters) async throws(WebFailure) -> ServerResponse
    {
        _ = try APIQuery(request)
        let id = try Self.id(parameters)
        let count = try await WebFailure.mapping(
            await database.endSessions(of: id, except: nil, cause: .revokedByOperator, at: clock.now()))
        // Nothing ended: nobody was signed in, or there is no such user.
        if count == 0 { _ = try await user(parameters) }
        return responses.empty(.noContent)
    }

    func endSession(_ request: ServerRequest, _ parameters: PathParameters) async throws(WebFailure) -> ServerResponse {
        _ = try APIQuery(request)
        let user = try Self.id(parameters)
        guard let id = parameters["session"].flatMap({ SessionID(parsing: $0) }) else {
            throw WebFailure(.sessionNotFound)
        }
        let wasThere = try await WebFailure.mapping(
            await database.endSession(id, of: user, cause: .revokedByOperator, at: clock.now()))
        guard wasThere else { throw WebFailure(.sessionNotFound) }
        return responses.empty(.noContent)
    }

    // MARK: Whom

    private func user(_ parameters: PathParameters) async throws(WebFailure) -> User {
        let id = try Self.id(parameters)
        guard let user = try await WebFailure.mapping(await database.user(id)) else { throw WebFailure(.userNotFound) }
        return user
    }

    /// An invalid id names nobody.
    private static func id(_ parameters: PathParameters) throws(WebFailure) -> UserID {
        guard let id = parameters["id"].flatMap({ UserID(parsing: $0) }) else { throw WebFailure(.userNotFound) }
        return id
    }
}
