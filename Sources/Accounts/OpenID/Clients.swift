package import Coding
package import Crypto
import Storage

/// What became of a change to a client.
package enum ClientOutcome: Sendable {
    /// - Parameters:
    ///   - secret: a new one, for the one time that it is shown.
    ///   - before: nil for a new client. The same as the client when nothing changed and nothing was written.
    case saved(OpenIDClient, secret: OpenIDClientSecret?, before: OpenIDClient?)
    /// There is no such client.
    case unknown
    /// There is one already.
    case taken
    /// It cannot work like this; nothing was written.
    case invalid([ClientProblem])
    /// It is public, and has no secret to change.
    case withoutSecret
}

/// The programs that sign people in: what is done to them, whoever asks. Each operation is one transaction with its
/// line in the audit log.
package struct Clients: Sendable {
    package let database: Database
    /// Of assertions, whose names no client may have.
    private let audiences: [String]
    private let random: any RandomSource
    /// Whether a holder of an API key may name this address.
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

    /// Why it cannot work, or may not be; empty for a good one.
    package func problems(of client: OpenIDClient) -> [ClientProblem] {
        var problems = client.problems(audiences: audiences)
        if client.backChannelPublicOnly, let uri = client.backChannelLogoutURI, !isPublicAddress(uri) {
            problems.append(
                ClientProblem(
                    subject: "back-channel logout URI",
                    reason: "by the API, only https to a public address; others are for an operator"))
        }
        return problems
    }

    /// Makes the client what the registration says.
    /// - Parameter isNew: as for `change`.
    package func register(
        _ registration: ClientRegistration, isNew: Bool? = nil, by author: ClientAuthor, at now: Timestamp
    ) async throws(Failure) -> ClientOutcome {
        try await change(registration.id, isNew: isNew, at: now) { client, secret in
            client = registration.client(replacing: client, secret: secret, by: author, at: now)
        }
    }

    /// - Parameters:
    ///   - isNew: whether it must be new, or must be there; nil for either.
    ///   - change: also receives the hash of a new secret, for a client that needs one. May be called twice.
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
            let problems = problems(of: after)
            guard problems.isEmpty else { return .invalid(problems) }
            if after != before {
                after.updatedAt = now
                try transaction.save(after, isNew: before == nil)
            }
            let isMade = after.secrets?.current == secret.hash
            return .saved(after, secret: isMade ? secret : nil, before: before)
        }
    }

    /// Makes a new secret.
    /// - Parameter keepingOld: how many seconds the one before stays valid.
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

    /// Ends its grants with it.
    /// - Returns: the client; nil when there is none.
    package func delete(_ id: OpenIDClientID, at now: Timestamp) async throws(Failure) -> OpenIDClient? {
        try await database.write(at: now) { transaction in
            let client = try transaction.openIDClient(id)
            if client != nil { try transaction.delete(id) }
            return client
        }
    }
}
