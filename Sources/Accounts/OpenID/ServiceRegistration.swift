package import Coding
package import Crypto
import Storage

/// Operations on services. Each is one transaction with its line in the audit log.
package struct Services: Sendable {
    private let database: Database
    /// Whether this server itself is on this machine only, so that a service may be on http here.
    private let isLocal: Bool
    private let random: any RandomSource

    package init(_ database: Database, isLocal: Bool, random: any RandomSource) {
        self.database = database
        self.isLocal = isLocal
        self.random = random
    }

    package typealias Outcome = RegistrationOutcome<Service, ServiceSecret>

    /// The most services, and the most scopes of one.
    package static let limit = 100

    /// `uri`: of one that must be new; without it, it must exist. `change` also receives the hash of a new secret; it may
    /// be called twice.
    package func change(
        _ id: OpenIDClientID, uri: String? = nil, at now: Timestamp,
        _ change: @escaping @Sendable (inout Service, Digest256) -> Void
    ) async throws(Failure) -> Outcome {
        let secret = ServiceSecret.make(random: random)
        return try await database.write(at: now) { transaction in
            let all = try transaction.services()
            let before = all.first { $0.id == id }
            if uri != nil, before != nil { return .taken }
            guard var after = before ?? uri.map({ Service(id, uri: $0, secret: secret.hash, at: now) }) else {
                return .unknown
            }
            change(&after, secret.hash)
            let problems = problems(of: after, among: all)
            guard problems.isEmpty else { return .invalid(problems) }
            if after != before {
                after.updatedAt = now
                try transaction.save(after, isNew: before == nil)
            }
            return .saved(after, secret: after.secrets.current == secret.hash ? secret : nil, before: before)
        }
    }

    /// - Parameter keepingOld: how many seconds the former one stays valid.
    package func rotateSecret(
        of id: OpenIDClientID, keepingOld seconds: Int64, at now: Timestamp
    ) async throws(Failure) -> Outcome {
        try await change(id, at: now) { service, secret in
            service.secrets = .replacing(
                service.secrets, by: secret, keepingOldUntil: now.adding(seconds: seconds), at: now)
        }
    }

    /// Deletes the service, its tokens, and the grants that are for nothing else. Nil when there is none.
    package func delete(_ id: OpenIDClientID, at now: Timestamp) async throws(Failure) -> Service? {
        try await database.write(at: now) { transaction in
            let service = try transaction.service(id)
            if let service { try transaction.delete(service) }
            return service
        }
    }

    /// `Clients.apply`
    package func apply(
        isDryRun: Bool, at now: Timestamp, _ plan: @escaping @Sendable ([Service]) -> [Service]
    ) async throws(Failure) -> RegistrationList<Service> {
        try await database.apply(isDryRun: isDryRun, at: now) { snapshot in
            let before = try snapshot.services()
            let after = plan(before)
            return RegistrationList(before, after) { problems(of: $0, among: after) }
        } write: { transaction, list in
            try transaction.replace(list.before, with: list.after)
        }
    }

    /// Empty for a valid service.
    private func problems(of service: Service, among all: [Service]) -> [ClientProblem] {
        var problems: [ClientProblem] = []
        func add(_ subject: String, _ value: String?, _ reason: String?) {
            if let reason { problems.append(ClientProblem(subject: subject, value: value, reason: reason)) }
        }
        let others = all.filter { $0.id != service.id }
        add("address", service.uri, ClientRules.refusal(ofService: service.uri, isLocal: isLocal))
        if let other = others.first(where: { $0.isNamed(service.uri) }) {
            add("address", service.uri, "it is the service \(other.id)'s")
        }
        if all.count(where: { $0.id == service.id }) > 1 { add("id", service.id.rawValue, "it is used twice") }
        // Alone, it says which service asks.
        if let other = others.first(where: { $0.secrets.current == service.secrets.current }) {
            add("secret", nil, "it is the service \(other.id)'s, too")
        }
        add("name", service.name, ClientRules.refusal(ofName: service.name))
        for entry in service.scopes {
            let scope = entry.scope.rawValue
            if entry.scope.isIdentity { add("scope", scope, "it is one of claims about people") }
            if service.scopes.count(where: { $0.scope == entry.scope }) > 1 { add("scope", scope, "it is named twice") }
            add("meaning of \(scope)", entry.meaning, ClientRules.refusal(ofName: entry.meaning))
        }
        if service.scopes.count > Self.limit { add("scopes", nil, "there are more than \(Self.limit)") }
        if others.count >= Self.limit { add("services", nil, "there are more than \(Self.limit)") }
        return problems
    }
}

extension ClientRules {
    /// A service's address: https, or http on this machine where Bramley is, too.
    static func refusal(ofService text: String, isLocal: Bool) -> String? {
        guard let url = AbsoluteURL(text) else { return "it is not an https address" }
        if !url.isSecure, !isLocal { return "http is only for services on this machine while publicURL is there, too" }
        if let problem = refusal(ofRedirectURI: text, isPublic: false) { return problem }
        // Applications leave it out.
        if url.hostAndPort?.port.map({ UInt16($0) == url.defaultPort }) == true { return "its port is the default one" }
        return nil
    }
}

extension Service {
    package init(_ id: OpenIDClientID, uri: String, secret: Digest256, at now: Timestamp) {
        self.init(
            uri: uri, id: id, name: id.rawValue, scopes: [], secrets: OpenIDClient.Secrets(current: secret),
            createdAt: now, updatedAt: now)
    }

    /// The id of a service registered without one: host and path, with hyphens. Nil if nothing is left.
    package static func id(for uri: String) -> OpenIDClientID? {
        guard let url = AbsoluteURL(uri) else { return nil }
        let words = (url.authority + url.rest).lowercased().split { !$0.isASCII || !($0.isLetter || $0.isNumber) }
        return OpenIDClientID(parsing: String(words.joined(separator: "-").prefix(64)))
    }
}

/// A service as described in a file. Omitted members are as for a new service.
package struct ServiceRegistration: Hashable, Sendable {
    package let id: OpenIDClientID
    private let uri: String
    private var name: String?
    private var scopes: [Service.Scope] = []
    /// SHA-256 of its secret.
    private var secret: Digest256?

    package static let members = ["serviceID", "uri", "name", "scopes", "serviceSecretSHA256"]

    /// Throws one clause, which names the member without its value.
    package init(_ object: JSONObject) throws(Failure) {
        guard let uri = object["uri"]?.stringValue else { throw Failure(.invalidRequest, "uri must be a text") }
        let named = object["serviceID"].map { OpenIDClientID(parsing: $0.stringValue ?? "") }
        guard let id = named ?? Service.id(for: uri) else {
            throw Failure(
                .invalidRequest, "serviceID must be 1 to 64 letters, digits, dots, hyphens or underscores")
        }
        (self.id, self.uri) = (id, uri)
        for member in object.members {
            switch member.name {
            case "serviceID", "uri": break
            case "name": name = try ClientRegistration.text(member)
            case "scopes": scopes = try Self.scopes(member)
            case "serviceSecretSHA256": secret = try ClientRegistration.hash(member)
            default:
                throw Failure(
                    .invalidRequest,
                    "there is an unknown member; accepted: \(Self.members.joined(separator: ", "))")
            }
        }
    }

    /// The service of `old` with these changes, or a new one; `made` is the hash of a new secret, if needed.
    package func service(replacing old: [Service], secret made: Digest256, at now: Timestamp) -> Service {
        // Another address is another service.
        let before = old.first { $0.id == id && $0.uri.isExactly(uri) }
        let hash = secret ?? before?.secrets.current ?? made
        var service = before ?? Service(id, uri: uri, secret: hash, at: now)
        service.name = name ?? id.rawValue
        service.scopes = scopes
        if service.secrets.current != hash {
            service.secrets = .replacing(
                service.secrets, by: hash, keepingOldUntil: now.adding(seconds: ClientRegistration.keepOld), at: now)
        }
        if service != before { service.updatedAt = now }
        return service
    }

    private static func scopes(_ member: JSONObject.Member) throws(Failure) -> [Service.Scope] {
        guard let object = member.value.objectValue else {
            throw Failure(.invalidRequest, "scopes must be an object of texts")
        }
        var scopes: [Service.Scope] = []
        for member in object.members {
            guard let scope = OpenIDScope(rawValue: member.name), let meaning = member.value.stringValue else {
                throw Failure(.invalidRequest, "scopes must be an object of scope tokens with texts")
            }
            scopes.append(Service.Scope(scope, meaning))
        }
        return scopes
    }
}
