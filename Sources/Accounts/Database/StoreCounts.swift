package import Coding
import Storage
import Synchronization

/// Counts of what the database holds, for monitoring.
package struct StoreCounts: Hashable, Sendable {
    /// Sessions that a request could still use.
    package var sessions = 0
    /// Identities, by credential state.
    package var credentials: [CredentialState: Int] = [:]
    /// People waiting for approval, and since when the first has waited.
    package var pending = 0
    package var oldestPending: Timestamp?
    /// Events waiting for delivery, counted per endpoint, and when the oldest happened.
    package var webhooksWaiting = 0
    package var oldestWebhook: Timestamp?
    package var webhooksDead = 0
    /// Tokens of deleted people waiting to be revoked at Apple, and since when the oldest has waited.
    package var revocationsWaiting = 0
    package var oldestRevocation: Timestamp?
    /// Tokens whose revocation was given up.
    package var revocationsFailed = 0
    /// Credentials whose daily check is due, and since when the first is.
    package var checksDue = 0
    package var checksDueSince: Timestamp?
    /// Whether a wave stopped the daily checks.
    package var checksAreStopped = false
    package var clientsRefused = 0
}

extension Database {
    /// Counts, concurrent with any other access. A million sessions take tens of milliseconds of one processor, a
    /// million identities hundreds: call it only now and then.
    package func counts(_ scope: CheckScope, at now: Timestamp) async throws(Failure) -> StoreCounts {
        try await readCounting(at: now) { snapshot in try snapshot.counts(scope) }
    }
}

extension Snapshot {
    fileprivate func counts(_ scope: CheckScope) throws -> StoreCounts {
        var counts = StoreCounts()
        let idleSince = now.adding(seconds: -context.sessionLimits.idleTimeout)
        // All of them by the smallest index, minus the few that have ended and are due to be deleted.
        counts.sessions =
            try count("SELECT count(*) FROM session")
            - count(
                "SELECT count(*) FROM session WHERE examine_at <= ?1 AND (expires_at <= ?1 OR last_seen_at <= ?2)",
                [now, idleSince])
        for row in try rows("SELECT credential_state, count(*) AS number FROM apple_identity GROUP BY 1") {
            guard let state = CredentialState(rawValue: try row["credential_state"]) else { continue }
            counts.credentials[state] = try row["number"]
        }
        if let row = try firstRow(
            "SELECT count(*) AS number, min(created_at) AS oldest FROM user WHERE state = 'pending'")
        {
            counts.pending = try row["number"]
            counts.oldestPending = try row["oldest"]
        }
        let endpoints = try webhookEndpoints()
        counts.webhooksWaiting = endpoints.reduce(0) { $0 + $1.backlog }
        counts.webhooksDead = endpoints.reduce(0) { $0 + $1.deadLetters }
        counts.oldestWebhook = endpoints.compactMap(\.oldest).min()
        try countRevocations(&counts)
        try countChecks(scope, &counts)
        // These pages are not read again soon.
        try releaseMemory()
        return counts
    }

    private func countRevocations(_ counts: inout StoreCounts) throws {
        let waiting = try firstRow(
            """
            SELECT count(*) AS number, min(queued_at) AS oldest FROM revocation
            WHERE next_attempt_at IS NOT NULL AND sealed_refresh_token IS NOT NULL
            """)
        if let waiting {
            counts.revocationsWaiting = try waiting["number"]
            counts.oldestRevocation = try waiting["oldest"]
        }
        counts.revocationsFailed = try count(
            "SELECT count(*) FROM revocation WHERE next_attempt_at IS NULL AND failure IS NOT NULL AND failure <> ?",
            [QueuedRevocation.done])
    }

    private func countChecks(_ scope: CheckScope, _ counts: inout StoreCounts) throws {
        for client in scope.clients {
            let row = try firstRow(
                """
                SELECT count(*) AS due, min(next_check_at) AS since FROM apple_credential
                WHERE client_id = ? AND next_check_at <= ?
                """, [client, now])
            guard let row else { continue }
            counts.checksDue += try row["due"]
            if let since: Timestamp = try row["since"] {
                counts.checksDueSince = min(counts.checksDueSince ?? since, since)
            }
        }
        let gate = try checkGate()
        counts.checksAreStopped = gate.brake != nil
        counts.clientsRefused = gate.pauses.count
    }
}

/// Caches slow counts for a hundred times as long as they took, so that they take at most a hundredth of a processor.
final class KeptNumbers<Numbers: Sendable>: Sendable {
    private struct State {
        var numbers: Numbers?
        var isSlow = false
        var dueAt = ContinuousClock.now
        var isCounting = false
    }

    private let quick: Duration
    private let rest: Int
    private let state = Mutex(State())

    /// Counts that take no longer than `quick` are not cached, others `rest` times as long as they took.
    init(quick: Duration = .milliseconds(20), rest: Int = 100) {
        self.quick = quick
        self.rest = rest
    }

    /// The present numbers, or cached ones; only the first caller waits for a slow count.
    func current(_ count: @escaping @Sendable () async throws(Failure) -> Numbers) async throws(Failure) -> Numbers {
        let now = ContinuousClock.now
        let (kept, isDue) = state.withLock { state -> (Numbers?, Bool) in
            if let numbers = state.numbers, state.isCounting || now < state.dueAt { return (numbers, false) }
            state.isCounting = true
            return (state.isSlow ? state.numbers : nil, true)
        }
        guard let kept else { return try await countAgain(count) }
        // For the next caller. An error keeps the old numbers, and the next caller counts again.
        if isDue { Task { _ = try? await self.countAgain(count) } }
        return kept
    }

    private func countAgain(_ count: @Sendable () async throws(Failure) -> Numbers) async throws(Failure) -> Numbers {
        let start = ContinuousClock.now
        do throws(Failure) {
            let numbers = try await count()
            let end = ContinuousClock.now
            let isSlow = end - start > quick
            state.withLock { state in
                state = State(numbers: numbers, isSlow: isSlow, dueAt: isSlow ? end + (end - start) * rest : end)
            }
            return numbers
        } catch {
            state.withLock { $0.isCounting = false }
            throw error
        }
    }
}
