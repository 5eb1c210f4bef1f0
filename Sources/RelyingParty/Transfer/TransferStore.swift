package import Coding

/// People on their way from one team to another. Every method is one durable transaction.
package protocol TransferStore: Sendable {
    // MARK: The sending team: people, and what Apple said of each

    /// People of `team` for whom Apple has not yet been asked on behalf of `recipient` and who have not moved, by
    /// subject.
    /// - Parameter again: whether to include people whom Apple refused before.
    func peopleToExport(
        of team: TeamID, to recipient: TeamID, again: Bool, after last: AppleSubject?, limit: Int
    ) async throws(StoreError) -> [AppleSubject]
    /// Stores Apple's answers: a `transfer_sub`, or why there is none. People deleted in the meantime stay deleted.
    /// - Returns: how many `transfer_sub`s were refused because another person already has them.
    @discardableResult
    func keepExports(
        _ answers: [TransferAnswer<AppleSubject, TransferSubject>], of team: TeamID, to recipient: TeamID,
        at now: Timestamp
    ) async throws(StoreError) -> Int

    // MARK: The receiving team: people who are to move, each in a transaction of their own

    /// People who have a `transfer_sub` for `team` and have not moved yet, in its order.
    /// - Parameter again: whether to include people whom Apple refused before.
    func peopleToImport(
        to team: TeamID, again: Bool, after last: TransferSubject?, limit: Int
    ) async throws(StoreError) -> [TransferSubject]
    /// Which of these people from a file exist and have not moved yet, in the same order.
    /// - Parameter again: whether to include people whom Apple refused before.
    func stillToImport(
        _ people: [TransferSubject], to team: TeamID, again: Bool
    ) async throws(StoreError) -> [TransferSubject]
    /// Adds the new identity to the person, with its event.
    /// - Parameter joins: whether to merge an account they created under the new team into the old one.
    func move(
        _ person: TransferSubject, to identity: TransferredIdentity, of team: TeamID, joins: Bool, at now: Timestamp
    ) async throws(StoreError) -> MoveResult
    /// Apple refused: they stay as they are, as `transferred`.
    func keepRefusal(
        _ reason: String, of person: TransferSubject, to team: TeamID, at now: Timestamp
    ) async throws(StoreError)
    /// Imports lines of an export made elsewhere, in one transaction, in order.
    /// - Parameter isRehearsal: only reports what would happen to each.
    func adopt(
        _ lines: [TransferLine], to team: TeamID, isRehearsal: Bool, at now: Timestamp
    ) async throws(StoreError) -> [AdoptionResult]

    // MARK: How far it is

    func transferCounts(from sender: TeamID?, to recipient: TeamID) async throws(StoreError) -> TransferCounts
    /// Which team exported people to which; routes with people waiting come first.
    func transferRoutes() async throws(StoreError) -> [TransferRoute]
    /// Exported people, by subject: the lines of the file.
    func transferLines(
        from sender: TeamID, to recipient: TeamID, after last: AppleSubject?, limit: Int
    ) async throws(StoreError) -> [TransferLine]
    /// People who could not move, the first one asked about first.
    func unmovedPeople(
        to recipient: TeamID, after last: UnmovedPlace?, limit: Int
    ) async throws(StoreError) -> [UnmovedPerson]
}

/// What Apple answered about one person.
package struct TransferAnswer<Person: Sendable, Value: Sendable>: Sendable {
    package enum Outcome: Sendable {
        case value(Value)
        /// For the operator; names nobody.
        case refused(String)
    }

    package var person: Person
    package var outcome: Outcome

    package init(person: Person, outcome: Outcome) {
        self.person = person
        self.outcome = outcome
    }
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

    package init(sender: TeamID, recipient: TeamID, exported: Int, waiting: Int) {
        self.sender = sender
        self.recipient = recipient
        self.exported = exported
        self.waiting = waiting
    }
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

    package init(place: UnmovedPlace, user: UserID, externalID: String?, step: Step, reason: String) {
        self.place = place
        self.user = user
        self.externalID = externalID
        self.step = step
        self.reason = reason
    }
}
