package import Coding
import Crypto
import Storage

/// A service's secret, `bss_…`, which is shown once, by `reveal()`.
package struct ServiceSecret: SecretToken {
    package static var prefix: String { "bss_" }
    package let text: String
    package init(unchecked text: String) { self.text = text }
}

/// A protected resource (RFC 8707 §2), as registered: what accepts access tokens of this server.
package struct Service: Hashable, Identifiable, Sendable {
    package struct Scope: Hashable, Sendable {
        package var scope: OpenIDScope
        /// What an application may do with it, as people read it: "Read your notes".
        package var meaning: String

        package init(_ scope: OpenIDScope, _ meaning: String) { (self.scope, self.meaning) = (scope, meaning) }
    }

    /// Its address: `resource` in requests and `aud` of its tokens.
    package var uri: String
    /// With which it authenticates. As an `OpenIDClientID`, it has no colon: FastMCP does not encode one.
    package var id: OpenIDClientID
    package var name: String
    package var scopes: [Scope]
    package var secrets: OpenIDClient.Secrets
    package var createdAt: Timestamp
    package var updatedAt: Timestamp
    /// When it last introspected a token, to the minute; nil if never.
    package var lastUsedAt: Timestamp?

    package func has(_ scope: OpenIDScope) -> Bool { scopes.contains { $0.scope == scope } }

    /// Whether a request's `resource` is its address: scheme and host without case, an origin with or without a slash.
    package func isNamed(_ resource: String) -> Bool { Self.normalized(resource).isExactly(Self.normalized(uri)) }

    private static func normalized(_ text: String) -> String {
        guard let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://") else { return text }
        let start = text.index(colon, offsetBy: 3)
        let end = text[start...].firstIndex { $0 == "/" || $0 == "?" } ?? text.endIndex
        let rest = text[end...]
        return text[..<end].lowercased() + (rest == "/" ? "" : rest)
    }
}

extension Service {
    package static let fields: [Field<Service>] = [
        Field("serviceID") { .code($0.id.rawValue) }, Field("uri") { .code($0.uri) }, Field("name") { .text($0.name) },
        Field("scopes") { .parts($0.scopes.map { ($0.scope.rawValue, $0.meaning) }) },
        Field("formerSecretUntil") { .time($0.secrets.formerUntil) }, Field("createdAt") { .time($0.createdAt) },
        Field("updatedAt") { .time($0.updatedAt) }, Field("lastUsedAt") { .time($0.lastUsedAt) },
    ]

    fileprivate static let columns = """
        uri, id, name, scopes, meanings, secret_hash, former_secret_hash, former_secret_until, created_at, updated_at,
        last_used_at
        """

    fileprivate init(_ row: Row) throws(StoreError) {
        uri = try row["uri"]
        id = try row["id"]
        name = try row["name"]
        let (words, meanings): ([OpenIDScope], [String]) = (try row.scopes("scopes"), try row.texts("meanings"))
        scopes = zip(words, meanings).map { Scope($0, $1) }
        secrets = OpenIDClient.Secrets(
            current: try row["secret_hash"], former: try row["former_secret_hash"],
            formerUntil: try row["former_secret_until"])
        createdAt = try row["created_at"]
        updatedAt = try row["updated_at"]
        lastUsedAt = try row["last_used_at"]
    }
}

extension Snapshot {
    func services() throws -> [Service] {
        try rows("SELECT \(Service.columns) FROM openid_service ORDER BY uri").map { try Service($0) }
    }

    func service(at uri: String) throws -> Service? {
        try firstRow("SELECT \(Service.columns) FROM openid_service WHERE uri = ?", [uri]).map { try Service($0) }
    }

    func service(_ id: OpenIDClientID) throws -> Service? {
        try firstRow("SELECT \(Service.columns) FROM openid_service WHERE id = ?", [id]).map { try Service($0) }
    }

    /// Those of a client's new scopes that nothing here has.
    func unknownScopes(of client: OpenIDClient, before: OpenIDClient?) throws -> [OpenIDScope] {
        let new = client.scopes.filter { !$0.isIdentity && before?.scopes.contains($0) != true }
        if new.isEmpty { return [] }
        let known = try services()
        return new.filter { scope in !known.contains { $0.has(scope) } }
    }
}

extension Transaction {
    func save(_ service: Service, isNew: Bool) throws {
        try run(
            """
            INSERT INTO openid_service (\(Service.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (uri) DO UPDATE SET name = excluded.name, scopes = excluded.scopes,
            meanings = excluded.meanings, secret_hash = excluded.secret_hash,
            former_secret_hash = excluded.former_secret_hash, former_secret_until = excluded.former_secret_until,
            updated_at = excluded.updated_at
            """,
            [
                service.uri, service.id, service.name, TextList(service.scopes.map(\.scope)),
                TextList(service.scopes.map(\.meaning)), service.secrets.current, service.secrets.former,
                service.secrets.formerUntil, service.createdAt, service.updatedAt, service.lastUsedAt,
            ])
        try audit(isNew ? .serviceAdded : .serviceChanged, object: service.id.rawValue)
    }

    /// Deletes the service, its tokens, and the grants that are for nothing else: one that is registered at the same
    /// address later gets none of them.
    func delete(_ service: Service) throws {
        try run("DELETE FROM openid_grant WHERE services = ?", [TextList([service.uri])])
        // Lists of several; no address has a quotation mark. There is no index of services: each statement reads every
        // grant. A grant's tokens are for services of its list.
        for row in try rows("SELECT id, services FROM openid_grant WHERE services LIKE ?", ["%\",\"%"]) {
            let (id, services): (Grant.ID, [String]) = (try row["id"], try row.texts("services"))
            let others = services.filter { !$0.isExactly(service.uri) }
            guard others.count < services.count else { continue }
            try run(
                """
                UPDATE openid_grant SET services = ?1,
                access_hash = CASE WHEN access_service = ?2 THEN NULL ELSE access_hash END,
                former_access_hash = CASE WHEN former_access_service = ?2 THEN NULL ELSE former_access_hash END
                WHERE id = ?3
                """, [TextList(others), service.uri, id])
        }
        try run("DELETE FROM openid_consent WHERE service = ?", [service.uri])
        try run("DELETE FROM openid_service WHERE uri = ?", [service.uri])
        try audit(.serviceDeleted, object: service.id.rawValue)
    }

    /// Writes what is different: another address is another service.
    func replace(_ found: [Service], with wanted: [Service]) throws {
        func isIn(_ list: [Service], _ service: Service) -> Bool {
            list.contains { $0.id == service.id && $0.uri.isExactly(service.uri) }
        }
        for service in found where !isIn(wanted, service) { try delete(service) }
        for service in wanted where !found.contains(service) { try save(service, isNew: !isIn(found, service)) }
    }
}

extension Database {
    /// All services, by address.
    package func services() async throws(Failure) -> [Service] { try await read { try $0.services() } }
}

extension OpenIDProvider {
    /// The services of a request's `resource` parameters.
    ///
    /// - Throws: `invalid_target` (RFC 8707 §2) for an unknown one.
    package func services(of request: AuthorizeRequest) async throws(Failure) -> [Service] {
        let resources = request.resources
        guard !resources.isEmpty else { return [] }
        let known = try await database.services()
        var found: [Service] = []
        for resource in resources {
            guard let service = known.first(where: { $0.isNamed(resource) }) else {
                throw .oauth(.invalidTarget, "resource is no service of this server")
            }
            if !found.contains(service) { found.append(service) }
        }
        return found
    }

    /// The service that authenticates with these values of `Authorization`: as a client does (Basic), or by its secret
    /// alone (Bearer). Nil for everybody else, such as the holder of an API key.
    package func service(authorization values: [String]) async throws(Failure) -> Service? {
        guard values.count == 1 else { return nil }
        let (id, secrets): (OpenIDClientID?, [OpenIDClientSecret])
        let parts = values[0].split(separator: " ", maxSplits: 1)
        if parts.count == 2, parts[0].lowercased() == "bearer" {
            (id, secrets) = (nil, [OpenIDClientSecret(unchecked: String(parts[1].drop { $0 == " " }))])
        } else if let basic = try? ProviderRequest.basic(values[0]), let named = OpenIDClientID(parsing: basic.0) {
            (id, secrets) = (named, basic.1)
        } else {
            return nil
        }
        guard !secrets.contains(where: { APIKeyToken(parsing: $0.text) != nil }) else { return nil }
        let now = clock.now()
        let service = try await database.read { snapshot -> Service? in
            let known = if let id { try [snapshot.service(id)].compactMap(\.self) } else { try snapshot.services() }
            return known.first { service in secrets.contains { service.secrets.accept($0, at: now) } }
        }
        if let service, serviceUses.isDue(service.id, last: service.lastUsedAt, at: now) {
            // For the operator's information: a failing store is ignored.
            try? await database.attemptWrite(at: now) { transaction in
                transaction.claim(.service(service.id))
                try transaction.touch("openid_service", service.id)
            }
        }
        return service
    }
}
