package import Coding
package import Crypto
package import RelyingParty

/// What the provider needs from the store: clients and grants. Each method is one transaction, durable when it returns.
package protocol OpenIDStore: Sendable {
    /// All clients, by id.
    func openIDClients() async throws(StoreError) -> [OpenIDClient]
    /// Read for each request, so that a change counts at once, in every process.
    func openIDClient(_ id: OpenIDClientID) async throws(StoreError) -> OpenIDClient?

    /// One isolated transaction: reads the clients, asks `change` for the new list, and writes the differences. Grants of
    /// a client that is gone end. `change` may run twice, so it must have no effects.
    /// - Returns: the clients as they are now, by id.
    func changeOpenIDClients(
        at now: Timestamp, _ change: @escaping @Sendable ([OpenIDClient]) -> [OpenIDClient]
    ) async throws(StoreError) -> [OpenIDClient]

    /// Writes `lastUsedAt`, or `lastRefusedAt`; callers call it at most once per client and minute.
    func touchOpenIDClient(_ id: OpenIDClientID, isRefused: Bool, at now: Timestamp) async throws(StoreError)

    /// Keeps the query of an authorization request; forgets those that have expired.
    /// - Returns: false when as many are kept as may be.
    func keepAuthorizeRequest(
        _ id: Digest256, _ query: String, until end: Timestamp, at now: Timestamp
    ) async throws(StoreError) -> Bool
    func keptAuthorizeRequest(_ id: Digest256, at now: Timestamp) async throws(StoreError) -> String?

    /// Stores a grant, and that its client is to learn of the session's end.
    /// - Returns: false when its session has ended.
    func saveGrant(_ grant: Grant, at now: Timestamp) async throws(StoreError) -> Bool

    func grant(_ id: Grant.ID, at now: Timestamp) async throws(StoreError) -> HeldGrant?

    /// One isolated transaction: reads the grant, asks `change` what becomes of it, and writes that. `change` may run
    /// twice, so it must have no effects.
    func changeGrant<Answer: Sendable>(
        _ id: Grant.ID, at now: Timestamp, _ change: @escaping @Sendable (HeldGrant?) -> (GrantChange, Answer)
    ) async throws(StoreError) -> Answer
}

/// What becomes of a grant.
package enum GrantChange: Hashable, Sendable {
    case keep
    case replace(Grant)
    /// It and all its tokens end.
    case end
}
