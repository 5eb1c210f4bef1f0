package import Coding
import Storage

/// `transfer_sub`: identifies a person who is moving from one team to another.
package struct TransferSubject: Hashable, Sendable {
    package let rawValue: String
    package init(_ rawValue: String) { self.rawValue = rawValue }
}

/// A person at the receiving team.
package struct TransferredIdentity: Hashable, Sendable {
    package var subject: AppleSubject
    /// The new team's relay address, for people who hide theirs; Apple reports no other.
    package var email: EmailAddress?

    package init(subject: AppleSubject, email: EmailAddress? = nil) {
        self.subject = subject
        self.email = email
    }
}

/// Why Apple did not answer as expected. The texts are for the operator, without tokens and names.
package enum MigrationFailure: Error, Hashable, Sendable {
    /// Concerns this one person: they withdrew consent, the window of 60 days is over, or the other team is wrong.
    case personRefused(String)
    /// Apple refuses us, and would refuse any person.
    case clientRefused(String)
    /// Apple does not answer, or not usefully, or asks us to wait: `retryAfter` in seconds.
    case unavailable(String, retryAfter: Int64? = nil)
}

package struct TransferAnswer<Person: Sendable, Value: Sendable>: Sendable {
    package enum Outcome: Sendable {
        case value(Value)
        /// For the operator; names nobody.
        case refused(String)
    }

    package var person: Person
    package var outcome: Outcome
}

package enum MoveResult: Hashable, Sendable {
    case moved(UserID)
    /// They had already moved, by signing in.
    case alreadyMoved(UserID)
    /// They had a second account under the new team, which is now merged into the first.
    case joined(UserID, from: UserID)
    /// They have a second account under the new team, and merging was not requested.
    case secondAccount(of: UserID, UserID)
    /// As above, and the two accounts have different external ids.
    case twoExternalIDs(of: UserID, UserID)
    case gone
}

/// One person of an export, as a line of its file.
package struct TransferLine: Hashable, Sendable {
    package var sender: TeamID
    package var subject: AppleSubject
    package var recipient: TeamID
    package var transferSubject: TransferSubject

    package init(sender: TeamID, subject: AppleSubject, recipient: TeamID, transferSubject: TransferSubject) {
        self.sender = sender
        self.subject = subject
        self.recipient = recipient
        self.transferSubject = transferSubject
    }
}

package enum AdoptionResult: Hashable, Sendable {
    case adopted(TransferSubject)
    /// Matches what is known.
    case known(TransferSubject)
    case alreadyMoved
    /// Unknown subject of that team; the person may have been deleted.
    case unknownPerson
    /// Another person has this `transfer_sub`, or this person has another one.
    case contradiction
}

/// The progress of a transfer. Counts people, each once, not rows of one team.
package struct TransferCounts: Hashable, Sendable {
    /// People about whom Apple was not asked; nil without a sender.
    package var unasked: Int?
    package var refusedAtExport = 0
    /// With a `transfer_sub`, not yet moved.
    package var exported = 0
    package var refusedAtImport = 0
    package var moved = 0
    /// When the first of them was exported; Apple answers for 60 days after the app changes hands.
    package var firstExportAt: Timestamp?

    package var total: Int { (unasked ?? 0) + refusedAtExport + exported + refusedAtImport + moved }
}

/// People who are moving from one team to another, or have moved.
package struct TransferRoute: Hashable, Sendable {
    package var sender: TeamID
    package var recipient: TeamID
    package var exported: Int
    /// Those who have not moved yet.
    package var waiting: Int
}

/// A person who could not move.
package struct UnmovedPerson: Hashable, Sendable {
    package enum Step: String, Sendable { case export, `import` }

    /// When Apple was asked, and the subject.
    package var place: TimedPlace
    package var user: UserID
    package var externalID: String?
    package var step: Step
    package var reason: String

    package static let fields: [Field<UnmovedPerson>] = [
        Field("user") { .code($0.user.rawValue) }, Field("externalID") { .text($0.externalID) },
        Field("step") { .text($0.step.rawValue) }, Field("reason") { .text($0.reason) },
        Field("askedAt") { .time($0.place.time) },
    ]
}
