package import Coding
package import Crypto
import Storage

package typealias ClientOutcome = RegistrationOutcome<OpenIDClient, OpenIDClientSecret>

/// Of an operation on a client or a service.
package enum RegistrationOutcome<Item: Sendable, Secret: SecretToken>: Sendable {
    /// The item with a new secret, for the one time that it is shown, and `before` the change; the same if nothing
    /// changed.
    case saved(Item, secret: Secret?, before: Item?)
    case unknown
    case taken
    /// Nothing was written.
    case invalid([ClientProblem])
    /// The client is public.
    case withoutSecret
}

/// A list of clients or services, before and after.
package struct RegistrationList<Item: Identifiable & Sendable>: Sendable where Item.ID == OpenIDClientID {
    package var before: [Item]
    package var after: [Item]
    /// Nothing was written, because of this one.
    package var refused: (id: OpenIDClientID, problems: [ClientProblem])?

    init(_ before: [Item], _ after: [Item], problems: (Item) throws -> [ClientProblem]) rethrows {
        (self.before, self.after) = (before, after)
        for item in after where refused == nil {
            let problems = try problems(item)
            if !problems.isEmpty { refused = (item.id, problems) }
        }
    }
}

extension Database {
    /// Reads and checks a list, and writes it in the same transaction unless it is refused; a dry run reads only.
    func apply<Item>(
        isDryRun: Bool, at now: Timestamp, _ plan: @escaping @Sendable (Snapshot) throws -> RegistrationList<Item>,
        write: @escaping @Sendable (Transaction, RegistrationList<Item>) throws -> Void
    ) async throws(Failure) -> RegistrationList<Item> {
        if isDryRun { return try await read(at: now, plan) }
        return try await self.write(at: now) { transaction in
            let list = try plan(transaction)
            if list.refused == nil { try write(transaction, list) }
            return list
        }
    }
}

/// Operations on clients. Each is one transaction with its line in the audit log.
package struct Clients: Sendable {
    package let database: Database
    /// The audiences of assertions, which no client may have as its ID.
    private let audiences: [String]
    private let random: any RandomSource
    /// Whether an API key may set this address.
    private let isPublicAddress: @Sendable (String) -> Bool

    package init(
        _ database: Database, audiences: [String], random: any RandomSource,
        isPublicAddress: @escaping @Sendable (String) -> Bool = { _ in true }
    ) {
        self.database = database
        self.audiences = audiences
        self.random = random
        self.isPublicAddress = isPublicAddress
    }

    /// Empty for a valid client.
    /// - Parameter before: what it replaces.
    private func problems(
        of client: OpenIDClient, replacing before: OpenIDClient?, _ snapshot: Snapshot
    ) throws -> [ClientProblem] {
        if client == before, client.document != nil { return [] }
        var problems = client.problems(audiences: audiences)
        if client.document != nil {
            problems.append(
                ClientProblem(subject: "client", reason: "only its document can change it; delete it instead"))
        } else if before == nil, client.id.isReserved {
            problems.append(
                ClientProblem(
                    subject: "client ID", value: client.id.rawValue, reason: "doc- is for clients with a document"))
        }
        if client.backChannelPublicOnly, let uri = client.backChannelLogoutURI, !isPublicAddress(uri) {
            problems.append(
                ClientProblem(
                    subject: "back-channel logout URI",
                    reason: "the API accepts only https at a public address; an operator can register others"))
        }
        return problems + ClientProblem.unknown(try snapshot.unknownScopes(of: client, before: before))
    }

    /// - Parameter isNew: as for `change`.
    package func register(
        _ registration: ClientRegistration, isNew: Bool? = nil, by author: ClientAuthor, at now: Timestamp
    ) async throws(Failure) -> ClientOutcome {
        try await change(registration.id, isNew: isNew, at: now) { client, secret in
            client = registration.client(replacing: client, secret: secret, by: author, at: now)
        }
    }

    /// `isNew`: whether it must be new, or must exist; nil for either. `change` also receives the hash of a new secret,
    /// for a client that needs one; it may be called twice.
    package func change(
        _ id: OpenIDClientID, isNew: Bool? = nil, at now: Timestamp,
        _ change: @escaping @Sendable (inout OpenIDClient, Digest256) -> Void
    ) async throws(Failure) -> ClientOutcome {
        let secret = OpenIDClientSecret.make(random: random)
        return try await database.write(at: now) { transaction in
            let before = try transaction.openIDClient(id)
            if let isNew, isNew != (before == nil) { return isNew ? .taken : .unknown }
            var after = before ?? OpenIDClient(new: id, at: now)
            change(&after, secret.hash)
            let problems = try problems(of: after, replacing: before, transaction)
            guard problems.isEmpty else { return .invalid(problems) }
            if after != before {
                after.updatedAt = now
                try transaction.save(after, isNew: before == nil)
            }
            let isMade = after.secrets?.current == secret.hash
            return .saved(after, secret: isMade ? secret : nil, before: before)
        }
    }

    /// - Parameter keepingOld: how many seconds the former one stays valid.
    package func rotateSecret(
        of id: OpenIDClientID, keepingOld seconds: Int64 = ClientRegistration.keepOld, at now: Timestamp
    ) async throws(Failure) -> ClientOutcome {
        let secret = OpenIDClientSecret.make(random: random)
        return try await database.write(at: now) { transaction in
            guard let before = try transaction.openIDClient(id) else { return .unknown }
            guard !before.isPublic else { return .withoutSecret }
            var after = before
            after.replaceSecret(by: secret.hash, keepingOldUntil: now.adding(seconds: seconds), at: now)
            try transaction.save(after, isNew: false)
            return .saved(after, secret: secret, before: before)
        }
    }

    /// Deletes the client and its grants. Nil when there is none.
    package func delete(_ id: OpenIDClientID, at now: Timestamp) async throws(Failure) -> OpenIDClient? {
        try await database.write(at: now) { transaction in
            let client = try transaction.openIDClient(id)
            if client != nil { try transaction.delete(id) }
            return client
        }
    }

    /// One transaction: writes what is different in the list that `plan` makes of the clients. `plan` may run twice.
    ///
    /// - Parameter isDryRun: whether to read only.
    package func apply(
        isDryRun: Bool, at now: Timestamp, _ plan: @escaping @Sendable ([OpenIDClient]) -> [OpenIDClient]
    ) async throws(Failure) -> RegistrationList<OpenIDClient> {
        try await database.apply(isDryRun: isDryRun, at: now) { snapshot in
            let before = try snapshot.openIDClients()
            return try RegistrationList(before, plan(before)) { client in
                try problems(of: client, replacing: before.first { $0.id == client.id }, snapshot)
            }
        } write: { transaction, list in
            try transaction.replace(list.before, with: list.after)
        }
    }
}
