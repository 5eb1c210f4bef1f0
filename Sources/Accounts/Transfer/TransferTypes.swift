package import Coding
import Storage

/// What Apple answered about one person.
package struct TransferAnswer<Person: Sendable, Value: Sendable>: Sendable {
    package enum Outcome: Sendable {
        case value(Value)
        /// For the operator; names nobody.
        case refused(String)
    }

    package var person: Person
    package var outcome: Outcome
}

/// The result for one person of an import.
package enum MoveResult: Hashable, Sendable {
    case moved(UserID)
    /// They had already moved by signing in.
    case alreadyMoved(UserID)
    /// They had a second account under the new team, which is now merged into the first.
    case joined(UserID, from: UserID)
    /// They have a second account under the new team, and merging was not requested.
    case secondAccount(of: UserID, UserID)
    /// As above, and both accounts have an external id, between which no program can choose.
    case twoExternalIDs(of: UserID, UserID)
    /// Deleted in the meantime.
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

/// The result for one line of a file.
package enum AdoptionResult: Hashable, Sendable {
    case adopted(TransferSubject)
    /// Matches what is known.
    case known(TransferSubject)
    case alreadyMoved
    /// Nobody here has this subject of that team; they may have been deleted.
    case unknownPerson
    /// Another person has this `transfer_sub`, or this person has another one.
    case contradiction
}

/// The progress of a transfer. Counts people, each once, not rows of one team.
package struct TransferCounts: Hashable, Sendable {
    /// People nobody has asked Apple about; nil when no sender was named.
    package var unasked: Int?
    package var refusedAtExport = 0
    /// With a `transfer_sub`, not yet moved.
    package var exported = 0
    package var refusedAtImport = 0
    package var moved = 0
    /// When the first of them was exported; Apple answers for 60 days after the app changes hands.
    package var firstExportAt: Timestamp?

    package init() {}

    package var total: Int { (unasked ?? 0) + refusedAtExport + exported + refusedAtImport + moved }
}

/// People on their way from one team to another, or already there.
package struct TransferRoute: Hashable, Sendable {
    package var sender: TeamID
    package var recipient: TeamID
    package var exported: Int
    /// Those who have not moved yet.
    package var waiting: Int
}

/// A position in the list of people who could not move.
package struct UnmovedPlace: Hashable, Sendable {
    package var askedAt: Timestamp
    package var subject: AppleSubject

    package init(askedAt: Timestamp, subject: AppleSubject) {
        self.askedAt = askedAt
        self.subject = subject
    }
}

/// Somebody who could not move.
package struct UnmovedPerson: Hashable, Sendable {
    package enum Step: String, Sendable { case export, `import` }

    package var place: UnmovedPlace
    package var user: UserID
    package var externalID: String?
    package var step: Step
    package var reason: String
}
