package import Coding

/// What the operator's page reads and changes beyond the other ports. Each write is one durable transaction.
package protocol OperatorDirectory: AuditLog, SessionList {
    /// Newest first. `before` is the `next` of the previous page.
    func auditLog(_ filter: AuditFilter, before: Int64?, limit: Int) async throws(StoreError) -> AuditPage
    /// - Returns: false when it has ended before.
    func endSession(_ id: SessionID, cause: SessionEndCause, at now: Timestamp) async throws(StoreError) -> Bool
    /// At most `limit`, newest first; a nil outcome selects all.
    func notifications(
        outcome: NotificationOutcome?, after cursor: NotificationCursor?, limit: Int
    ) async throws(StoreError) -> NotificationPage
    func notification(_ id: String) async throws(StoreError) -> RecordedNotification?
    /// Applies one again as if it arrived now.
    func replayNotification(
        _ id: String, team: TeamID, at now: Timestamp
    ) async throws(StoreError) -> NotificationReplay
    /// Changes or deletes a person, unless nobody would be left who can open the operator's page.
    /// - Parameter groups: `operator.groups`.
    func changeUser(
        _ id: UserID, _ change: OperatorChange, protecting groups: [String], at now: Timestamp
    ) async throws(StoreError) -> OperatorChangeResult
    /// What applications have not received about a person: the newest `limit` of it.
    func deliveries(of user: UserID, limit: Int) async throws(StoreError) -> [WaitingDelivery]
    /// These people, as far as they exist.
    func users(_ ids: Set<UserID>) async throws(StoreError) -> [UserID: User]
    /// How many people are in each state; among very many, as of a few seconds ago.
    func userCounts() async throws(StoreError) -> [User.State: Int]
    /// Adds to the numbers of the hour.
    func addSignIns(_ counts: [SignInCount], at now: Timestamp) async throws(StoreError)
    /// The numbers of each hour since `time`, oldest first.
    func signIns(since time: Timestamp) async throws(StoreError) -> [SignInCount]
    /// Writes that this server runs, and forgets those that have not been seen for a day.
    func reportServer(_ server: RunningServer) async throws(StoreError)
    /// - Parameter seen: those not seen since are not listed.
    func servers(seen: Timestamp) async throws(StoreError) -> [RunningServer]
}

/// What an operator does to a person.
package enum OperatorChange: Hashable, Sendable {
    /// - Parameter states: in which the person must be.
    case patch(UserPatch, from: [User.State])
    case delete
}

package enum OperatorChangeResult: Hashable, Sendable {
    case changed
    case deleted(UserDeletion)
    case unknown
    /// The person is in another state by now; nothing was written.
    case otherState
    /// Nobody else is active and in a group of `operator.groups`; nothing was written.
    case lastOperator
}

/// An event that waits for an endpoint, or was given up for it.
package struct WaitingDelivery: Hashable, Sendable {
    package var event: EventID
    package var url: String
    package var isDead: Bool

    package init(event: EventID, url: String, isDead: Bool) {
        self.event = event
        self.url = url
        self.isDead = isDead
    }
}

/// How many sign-ins of an hour ended in one way.
package struct SignInCount: Hashable, Sendable {
    /// The beginning of the hour.
    package var hour: Timestamp
    /// As in the metric `bramley_sign_ins_total`.
    package var outcome: String
    package var reason: String
    package var number: Int

    package init(hour: Timestamp, outcome: String, reason: String, number: Int) {
        self.hour = hour
        self.outcome = outcome
        self.reason = reason
        self.number = number
    }

    /// How long they are kept, in seconds.
    package static let retention: Int64 = 8 * 86_400
}

extension Timestamp {
    /// The beginning of its hour, in UTC.
    package var hour: Timestamp { Timestamp(milliseconds: milliseconds - milliseconds % 3_600_000) }
}

/// A server that works on the database.
package struct RunningServer: Hashable, Sendable {
    /// Random, one for each process.
    package var id: String
    package var host: String
    package var version: String
    package var startedAt: Timestamp
    package var seenAt: Timestamp

    package init(id: String, host: String, version: String, startedAt: Timestamp, seenAt: Timestamp) {
        self.id = id
        self.host = host
        self.version = version
        self.startedAt = startedAt
        self.seenAt = seenAt
    }
}

extension User {
    /// Whether this person may open the operator's page.
    /// - Parameter groups: `operator.groups`.
    package func isOperator(_ groups: [String]) -> Bool {
        state == .active && self.groups.contains { own in groups.contains { $0.isExactly(own) } }
    }
}
