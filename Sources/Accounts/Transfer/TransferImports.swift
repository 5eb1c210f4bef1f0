package import Coding
import Storage

extension Database {
    /// People with a `transfer_sub` for `team` who have not moved, in its order; `again` adds those Apple refused.
    package func peopleToImport(
        to team: TeamID, again: Bool, after last: TransferSubject?, limit: Int
    ) async throws(Failure) -> [TransferSubject] {
        try await read { snapshot in
            try snapshot.rows(
                """
                SELECT transfer_subject FROM apple_identity
                WHERE transfer_target = ? AND transfer_subject > ? AND moved_to IS NULL
                AND (transfer_failure IS NULL OR ?) ORDER BY transfer_subject LIMIT ?
                """, [team, last?.rawValue ?? "", again, limit]
            ).map { try $0["transfer_subject"] }
        }
    }

    /// Which of these people exist and have not moved yet, in the same order; `again` includes those Apple refused.
    package func stillToImport(
        _ people: [TransferSubject], to team: TeamID, again: Bool
    ) async throws(Failure) -> [TransferSubject] {
        try await read { snapshot in
            try people.filter { name in
                try snapshot.exists(
                    """
                    SELECT 1 FROM apple_identity WHERE transfer_target = ? AND transfer_subject = ?
                    AND moved_to IS NULL AND (transfer_failure IS NULL OR ?)
                    """, [team, name, again])
            }
        }
    }

    /// Adds the new identity to the person, with its event; `joins` merges an account they created under the new team.
    package func move(
        _ person: TransferSubject, to identity: TransferredIdentity, of team: TeamID, joins: Bool, at now: Timestamp
    ) async throws(Failure) -> MoveResult {
        try await write(at: now) { transaction in
            try transaction.move(person, to: identity, of: team, joins: joins)
        }
    }

    /// Apple refused: they stay as they are, as `transferred`.
    package func keepRefusal(
        _ reason: String, of person: TransferSubject, to team: TeamID, at now: Timestamp
    ) async throws(Failure) {
        try await write(at: now) { transaction in
            guard let origin = try transaction.origin(person, to: team), origin.movedTo == nil else { return }
            try transaction.recordTransferFailure(reason, of: origin.row)
            // People who withdrew consent, or are gone, stay that way.
            try transaction.apply(.transferredOut(at: now), toIdentity: origin.row)
        }
    }

    /// Imports lines of an export made elsewhere, in one transaction, in order. A rehearsal only reports results.
    package func adopt(
        _ lines: [TransferLine], to team: TeamID, isRehearsal: Bool, at now: Timestamp
    ) async throws(Failure) -> [AdoptionResult] {
        try await write(at: now) { transaction in
            try transaction.rehearse(isRehearsal) { try lines.map { try transaction.adopt($0, to: team) } }
        }
    }
}

extension Transaction {
    fileprivate func adopt(_ line: TransferLine, to team: TeamID) throws -> AdoptionResult {
        guard line.recipient == team,
            let row = try firstRow(
                """
                SELECT id, transfer_target, transfer_subject, moved_to IS NOT NULL AS has_moved FROM apple_identity
                WHERE team = ? AND subject = ?
                """, [line.sender, line.subject])
        else { return .unknownPerson }
        let (name, id): (TransferSubject, Int64) = (line.transferSubject, try row["id"])
        let hasMoved: Bool = try row["has_moved"]
        if let target: TeamID = try row["transfer_target"], target.rawValue.isExactly(team.rawValue),
            let known: TransferSubject = try row["transfer_subject"]
        {
            guard known.rawValue.isExactly(name.rawValue) else { return .contradiction }
            return hasMoved ? .alreadyMoved : .known(name)
        }
        if hasMoved { return .alreadyMoved }
        guard try !isTransferSubjectTaken(name, for: team, by: id) else { return .contradiction }
        try keepTransferSubject(name, for: team, row: id)
        return .adopted(name)
    }

    /// Whether another person already has this transfer subject.
    func isTransferSubjectTaken(_ name: TransferSubject, for team: TeamID, by row: Int64) throws -> Bool {
        try exists(
            "SELECT 1 FROM apple_identity WHERE transfer_target = ? AND transfer_subject = ? AND id <> ?",
            [team, name, row])
    }

    func keepTransferSubject(_ name: TransferSubject, for team: TeamID, row: Int64) throws {
        try run(
            """
            UPDATE apple_identity SET transfer_target = ?, transfer_subject = ?, transfer_asked_at = ?,
            transfer_failure = NULL WHERE id = ? AND moved_to IS NULL
            """, [team, name, now, row])
    }
}
