package import Coding
import Storage
import Synchronization

/// For the sending team: asks Apple for the `transfer_sub` of each person.
package struct TransferExport: TransferStep {
    private let database: Database
    private let provider: any IdentityProvider
    private let clientID: ClientID
    private let recipient: TeamID
    private let again: Bool
    private let clock: any WallClock

    /// - Parameter again: whether to include people whom Apple refused before.
    package init(
        database: Database, provider: any IdentityProvider, as clientID: ClientID, to recipient: TeamID, again: Bool,
        clock: any WallClock
    ) {
        self.database = database
        self.provider = provider
        self.clientID = clientID
        self.recipient = recipient
        self.again = again
        self.clock = clock
    }

    package func isProven() async throws(Failure) -> Bool {
        let counts = try await database.transferCounts(from: provider.team, to: recipient)
        return counts.exported + counts.moved + counts.refusedAtImport > 0
    }

    package func prepare() async throws(MigrationFailure) { try await provider.prepareTransfer(as: clientID) }

    package func people(after last: AppleSubject?, limit: Int) async throws(Failure) -> [AppleSubject] {
        try await database.peopleToExport(of: provider.team, to: recipient, again: again, after: last, limit: limit)
    }

    package func ask(_ person: AppleSubject) async throws(MigrationFailure) -> TransferSubject {
        try await provider.transferSubject(of: person, to: recipient, as: clientID)
    }

    package func keep(_ answers: [TransferAnswer<AppleSubject, TransferSubject>]) async throws(Failure) {
        try await database.keepExports(answers, of: provider.team, to: recipient, at: clock.now())
    }
}

/// For the receiving team: asks Apple who each `transfer_sub` is, and moves them.
package final class TransferImport: TransferStep {
    package struct Report: Sendable {
        package var moved = 0
        package var alreadyMoved = 0
        package var joined = 0
        package var refused = 0
        package var gone = 0
        /// People with a second account under the new team.
        package var secondAccounts: [(first: UserID, second: UserID, bothHaveExternalIDs: Bool)] = []
    }

    private let database: Database
    private let provider: any IdentityProvider
    private let clientID: ClientID
    private let again: Bool
    private let joins: Bool
    /// In order; nil for everyone.
    private let chosen: [TransferSubject]?
    private let clock: any WallClock
    private let tally = Mutex(Report())

    /// `again` includes people whom Apple refused before; `joins` merges two accounts of somebody who signed up again
    /// under the new team; `chosen` nil means everybody who waits.
    package init(
        database: Database, provider: any IdentityProvider, as clientID: ClientID, again: Bool, joins: Bool,
        only chosen: [TransferSubject]? = nil, clock: any WallClock
    ) {
        self.database = database
        self.provider = provider
        self.clientID = clientID
        self.again = again
        self.joins = joins
        self.chosen = chosen?.sorted { $0.rawValue < $1.rawValue }
        self.clock = clock
    }

    package var report: Report { tally.withLock { $0 } }

    package func isProven() async throws(Failure) -> Bool {
        try await database.transferCounts(from: nil, to: provider.team).moved > 0
    }

    package func prepare() async throws(MigrationFailure) { try await provider.prepareTransfer(as: clientID) }

    package func people(after last: TransferSubject?, limit: Int) async throws(Failure) -> [TransferSubject] {
        guard let chosen else {
            return try await database.peopleToImport(to: provider.team, again: again, after: last, limit: limit)
        }
        var rest = chosen[(last.map { Self.firstIndex(in: chosen, behind: $0) } ?? 0)...]
        while !rest.isEmpty {
            let page = Array(rest.prefix(limit))
            let open = try await database.stillToImport(page, to: provider.team, again: again)
            if !open.isEmpty { return open }
            rest = rest.dropFirst(page.count)
        }
        return []
    }

    /// Binary search: there may be a million of them.
    private static func firstIndex(in people: [TransferSubject], behind last: TransferSubject) -> Int {
        var range = 0..<people.count
        while !range.isEmpty {
            let middle = (range.lowerBound + range.upperBound) / 2
            range = people[middle].rawValue > last.rawValue ? range.lowerBound..<middle : middle + 1..<range.upperBound
        }
        return range.lowerBound
    }

    package func ask(_ person: TransferSubject) async throws(MigrationFailure) -> TransferredIdentity {
        try await provider.identity(of: person, as: clientID)
    }

    package func keep(_ answers: [TransferAnswer<TransferSubject, TransferredIdentity>]) async throws(Failure) {
        for answer in answers {
            switch answer.outcome {
            case .refused(let reason):
                try await database.keepRefusal(reason, of: answer.person, to: provider.team, at: clock.now())
                tally.withLock { $0.refused += 1 }
            case .value(let identity):
                let result = try await database.move(
                    answer.person, to: identity, of: provider.team, joins: joins, at: clock.now())
                tally.withLock { $0.count(result) }
            }
        }
    }
}

extension TransferImport.Report {
    fileprivate mutating func count(_ result: MoveResult) {
        switch result {
        case .moved: moved += 1
        case .alreadyMoved: alreadyMoved += 1
        case .joined: joined += 1
        case .gone: gone += 1
        case .secondAccount(let first, let second):
            secondAccounts.append((first: first, second: second, bothHaveExternalIDs: false))
        case .twoExternalIDs(let first, let second):
            secondAccounts.append((first: first, second: second, bothHaveExternalIDs: true))
        }
    }
}
