package import Coding
import Crypto
package import RelyingParty

extension Database {
    package func peopleToImport(
        to team: TeamID, again: Bool, after row: Int64, limit: Int
    ) async throws(StoreError) -> [ImportedIdentity] {
        try await read { connection in
            // By row: an index would have to be sorted for each page.
            try connection.rows(
                """
                SELECT id, transfer_subject FROM apple_identity NOT INDEXED
                WHERE id > ? AND transfer_target = ? AND transfer_subject IS NOT NULL AND moved_to IS NULL
                AND (transfer_failure IS NULL OR ?) ORDER BY id LIMIT ?
                """, [row, team.rawValue, again, limit]
            ).map {
                ImportedIdentity(row: $0[0] as Int64? ?? 0, transferSubject: TransferSubject(try $0.text(1)))
            }
        }
    }

    package func stillToImport(
        _ people: [ImportedIdentity], to team: TeamID, again: Bool
    ) async throws(StoreError) -> [ImportedIdentity] {
        try await read { connection in
            try people.filter { person in
                try connection.integer(
                    """
                    SELECT 1 FROM apple_identity WHERE id = ? AND transfer_target = ? AND transfer_subject = ?
                    AND moved_to IS NULL AND (transfer_failure IS NULL OR ?)
                    """, [person.row, team.rawValue, person.transferSubject.rawValue, again]) != nil
            }
        }
    }

    package func move(
        _ person: ImportedIdentity, to identity: TransferredIdentity, of team: TeamID, joins: Bool, at now: Timestamp
    ) async throws(StoreError) -> MoveResult {
        let move = TransferMove(team: team, now: now, identifiers: identifiers)
        return try await commits.write { connection, effects in
            try move.move(person, to: identity, joins: joins, on: connection, effects: &effects)
        }
    }

    package func keepRefusal(
        _ reason: String, of person: ImportedIdentity, to team: TeamID, at now: Timestamp
    ) async throws(StoreError) {
        let move = TransferMove(team: team, now: now, identifiers: identifiers)
        let identifiers = identifiers
        try await commits.write { connection, effects in
            let origin = try move.origin(person.transferSubject, row: person.row, on: connection)
            guard let origin, origin.movedTo == nil else { return }
            try connection.noteTransferFailure(reason, of: origin.row, at: now)
            // Somebody who took their consent back, or is gone, stays that.
            try connection.apply(
                .transferredOut(at: now), toIdentity: origin.row, at: now, identifiers: identifiers, effects: &effects)
        }
    }

    package func adopt(
        _ lines: [TransferLine], to team: TeamID, isRehearsal: Bool, at now: Timestamp
    ) async throws(StoreError) -> [AdoptionResult] {
        try await commits.write { connection, _ in
            guard isRehearsal else { return try lines.map { try connection.adopt($0, to: team, at: now) } }
            try connection.run("SAVEPOINT rehearsal")
            let results = try lines.map { try connection.adopt($0, to: team, at: now) }
            try connection.run("ROLLBACK TO rehearsal")
            try connection.run("RELEASE rehearsal")
            return results
        }
    }
}

extension SQLiteConnection {
    fileprivate func adopt(_ line: TransferLine, to team: TeamID, at now: Timestamp) throws -> AdoptionResult {
        guard line.recipient == team,
            let row = try firstRow(
                """
                SELECT id, transfer_target, transfer_subject, moved_to FROM apple_identity
                WHERE team = ? AND subject = ?
                """, [line.sender.rawValue, line.subject.rawValue])
        else { return .unknownPerson }
        let name = line.transferSubject.rawValue
        let id = row[0] as Int64? ?? 0
        let person = ImportedIdentity(row: id, transferSubject: line.transferSubject)
        let isForUs = (row[1] as String?).map { $0.isExactly(team.rawValue) } ?? false
        if isForUs, let known = row[2] as String? {
            guard known.isExactly(name) else { return .contradiction }
            return row.hasNull(atIndex: 3) ? .known(person) : .alreadyMoved
        }
        guard row.hasNull(atIndex: 3) else { return .alreadyMoved }
        guard try !isTransferSubjectTaken(name, for: team, by: id) else { return .contradiction }
        try keepTransferSubject(name, for: team, row: id, at: now)
        return .adopted(person)
    }

    /// Whether Apple's name for one person is another's already.
    func isTransferSubjectTaken(_ name: String, for team: TeamID, by row: Int64) throws -> Bool {
        try integer(
            "SELECT 1 FROM apple_identity WHERE transfer_target = ? AND transfer_subject = ? AND id <> ?",
            [team.rawValue, name, row]) != nil
    }

    func keepTransferSubject(_ name: String, for team: TeamID, row: Int64, at now: Timestamp) throws {
        try run(
            """
            UPDATE apple_identity SET transfer_target = ?, transfer_subject = ?, transfer_asked_at = ?,
            transfer_failure = NULL WHERE id = ? AND moved_to IS NULL
            """, [team.rawValue, name, now.milliseconds, row])
    }
}
