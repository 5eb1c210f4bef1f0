package import Coding
import Storage

/// A revocation that Apple has not acknowledged, for the operator. It names no one and contains no token.
package struct RevocationReport: Hashable, Sendable {
    package enum State: String, Sendable, CaseIterable {
        case waiting
        /// Apple did not answer or refused us, or no sealing key opens the token; will be tried again.
        case retrying
        case asking
        /// Given up, and the token erased: the person can end the authorization in their Apple Account.
        case failed
    }

    package var id: Int64
    package var clientID: ClientID
    package var state: State
    /// When the account was deleted.
    package var queuedAt: Timestamp
    /// Nil when given up.
    package var nextAttemptAt: Timestamp?
    package var attempts: Int
    /// Why the last attempt failed: a reason of `TokenFailure`, or `unreadable`.
    package var failure: String?

    /// When it is given up unless Apple answers.
    package var endsAt: Timestamp { queuedAt.adding(seconds: QueuedRevocation.lifetime) }

    package static let fields: [Field<RevocationReport>] = [
        Field("id") { .number(Int($0.id)) }, Field("state") { .text($0.state.rawValue) },
        Field("clientID") { .text($0.clientID.rawValue) }, Field("queuedAt") { .time($0.queuedAt) },
        Field("nextAttemptAt") { .time($0.nextAttemptAt) }, Field("endsAt") { .time($0.endsAt) },
        Field("attempts") { .number($0.attempts) }, Field("failure") { .text($0.failure) },
    ]
}

extension Database {
    /// At most `limit` entries with a token that Apple has not acknowledged, in their order, after the entry `id`.
    package func revocations(
        after id: Int64?, limit: Int, at now: Timestamp
    ) async throws(Failure) -> Page<RevocationReport, Int64> {
        try await read(at: now) { snapshot in
            try snapshot.page(
                """
                SELECT id, client_id, queued_at, next_attempt_at, attempts, failure,
                sealed_refresh_token IS NOT NULL AS holds_token
                FROM revocation WHERE id > ? AND failure IS DISTINCT FROM ? ORDER BY id LIMIT ?
                """, [id ?? 0, QueuedRevocation.done], limit: limit, place: \.id
            ) { try RevocationReport($0, at: now) }
        }
    }

    /// Makes all waiting entries due now, except those in flight; returns how many are due.
    package func retryRevocations(at now: Timestamp) async throws(Failure) -> Int {
        try await write(at: now) { transaction in
            let count = try transaction.change(
                """
                UPDATE revocation SET next_attempt_at = min(next_attempt_at, ?1) WHERE sealed_refresh_token IS NOT NULL
                AND next_attempt_at IS NOT NULL AND (failure IS DISTINCT FROM ?2 OR next_attempt_at <= ?1)
                """, [now, QueuedRevocation.inFlight])
            try transaction.audit(.command, object: "credentials revocations --retry")
            return count
        }
    }
}

extension RevocationReport {
    fileprivate init(_ row: Row, at now: Timestamp) throws(StoreError) {
        let mark: String? = try row["failure"]
        let isMarked = mark == QueuedRevocation.inFlight
        let next: Timestamp? = try row["next_attempt_at"]
        let attempts: Int = try row["attempts"]
        var state: State = attempts > 0 ? .retrying : .waiting
        if isMarked, let next, now < next { state = .asking }
        if !(try row["holds_token"]) { state = .failed }
        id = try row["id"]
        clientID = try row["client_id"]
        self.state = state
        queuedAt = try row["queued_at"]
        nextAttemptAt = next
        self.attempts = attempts
        failure = isMarked ? nil : mark
    }
}
