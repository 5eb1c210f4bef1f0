package import Coding
import Storage

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
