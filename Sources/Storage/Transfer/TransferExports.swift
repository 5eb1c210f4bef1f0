package import Coding
package import RelyingParty

extension Database {
    package func peopleToExport(
        of team: TeamID, to recipient: TeamID, again: Bool, after row: Int64, limit: Int
    ) async throws(StoreError) -> [ExportedIdentity] {
        try await read { connection in
            // By row: an index would have to be sorted for each page.
            try connection.rows(
                """
                SELECT id, subject FROM apple_identity NOT INDEXED
                WHERE id > ? AND team = ? AND moved_to IS NULL AND (transfer_target IS NOT ?
                OR (transfer_subject IS NULL AND (transfer_failure IS NULL OR ?))) ORDER BY id LIMIT ?
                """, [row, team.rawValue, recipient.rawValue, again, limit]
            ).map { ExportedIdentity(row: $0[0] as Int64? ?? 0, subject: AppleSubject(try $0.text(1))) }
        }
    }

    @discardableResult
    package func keepExports(
        _ answers: [TransferAnswer<ExportedIdentity, TransferSubject>], to recipient: TeamID, at now: Timestamp
    ) async throws(StoreError) -> Int {
        try await commits.write { connection, _ in
            var taken = 0
            for answer in answers {
                // A row's number may be another person's by now, if this one was deleted.
                let row = answer.person.row
                let isThere = try connection.integer(
                    "SELECT 1 FROM apple_identity WHERE id = ? AND subject = ? AND moved_to IS NULL",
                    [row, answer.person.subject.rawValue])
                guard isThere != nil else { continue }
                switch answer.outcome {
                case .refused(let reason):
                    try connection.keepExportFailure(reason, for: recipient, row: row, at: now)
                case .value(let name):
                    if try connection.isTransferSubjectTaken(name.rawValue, for: recipient, by: row) {
                        taken += 1
                        try connection.keepExportFailure(
                            TransferFailure.contradiction, for: recipient, row: row, at: now)
                    } else {
                        try connection.keepTransferSubject(name.rawValue, for: recipient, row: row, at: now)
                    }
                }
            }
            return taken
        }
    }
}

extension SQLiteConnection {
    fileprivate func keepExportFailure(_ reason: String, for recipient: TeamID, row: Int64, at now: Timestamp) throws {
        try run(
            """
            UPDATE apple_identity SET transfer_target = ?, transfer_subject = NULL, transfer_asked_at = ?,
            transfer_failure = ? WHERE id = ?
            """, [recipient.rawValue, now.milliseconds, reason, row])
    }
}

extension Database: TransferStore {
    package func transferCounts(
        from sender: TeamID?, to recipient: TeamID
    ) async throws(StoreError) -> TransferCounts {
        try await read { connection in
            var counts = TransferCounts()
            if let sender {
                let unasked = try connection.integer(
                    """
                    SELECT count(*) FROM apple_identity
                    WHERE team = ? AND transfer_target IS NOT ? AND moved_to IS NULL
                    """, [sender.rawValue, recipient.rawValue])
                counts.unasked = Int(unasked ?? 0)
            }
            let row = try connection.firstRow(
                """
                SELECT coalesce(sum(moved_to IS NOT NULL), 0),
                coalesce(sum(moved_to IS NULL AND transfer_subject IS NULL), 0),
                coalesce(sum(moved_to IS NULL AND transfer_subject IS NOT NULL AND transfer_failure IS NULL), 0),
                coalesce(sum(moved_to IS NULL AND transfer_subject IS NOT NULL AND transfer_failure IS NOT NULL), 0),
                min(transfer_asked_at) FROM apple_identity
                WHERE transfer_target = ?1 AND (?2 IS NULL OR team = ?2)
                """, [recipient.rawValue, sender?.rawValue])
            guard let row else { return counts }
            counts.moved = Int(row[0] as Int64? ?? 0)
            counts.refusedAtExport = Int(row[1] as Int64? ?? 0)
            counts.exported = Int(row[2] as Int64? ?? 0)
            counts.refusedAtImport = Int(row[3] as Int64? ?? 0)
            counts.firstExportAt = (row[4] as Int64?).map { Timestamp(milliseconds: $0) }
            return counts
        }
    }

    package func transferRoutes() async throws(StoreError) -> [TransferRoute] {
        try await read { connection in
            try connection.rows(
                """
                SELECT team, transfer_target, count(*), sum(moved_to IS NULL) FROM apple_identity
                WHERE transfer_target IS NOT NULL AND transfer_subject IS NOT NULL
                GROUP BY team, transfer_target ORDER BY sum(moved_to IS NULL) DESC, team, transfer_target
                """
            ).map { found in
                TransferRoute(
                    sender: TeamID(try found.text(0)), recipient: TeamID(try found.text(1)),
                    exported: Int(found[2] as Int64? ?? 0), waiting: Int(found[3] as Int64? ?? 0))
            }
        }
    }

    package func transferLines(
        from sender: TeamID, to recipient: TeamID, after row: Int64, limit: Int
    ) async throws(StoreError) -> [(row: Int64, line: TransferLine)] {
        try await read { connection in
            try connection.rows(
                """
                SELECT id, subject, transfer_subject FROM apple_identity NOT INDEXED
                WHERE id > ? AND team = ? AND transfer_target = ? AND transfer_subject IS NOT NULL ORDER BY id LIMIT ?
                """, [row, sender.rawValue, recipient.rawValue, limit]
            ).map { found in
                let line = TransferLine(
                    sender: sender, subject: AppleSubject(try found.text(1)), recipient: recipient,
                    transferSubject: TransferSubject(try found.text(2)))
                return (row: found[0] as Int64? ?? 0, line: line)
            }
        }
    }

    package func unmovedPeople(
        to recipient: TeamID, after row: Int64, limit: Int
    ) async throws(StoreError) -> [UnmovedPerson] {
        try await read { connection in
            try connection.rows(
                """
                SELECT i.id, i.user, u.external_id, i.transfer_subject IS NULL, i.transfer_failure,
                i.transfer_asked_at FROM apple_identity i NOT INDEXED JOIN user u ON u.id = i.user
                WHERE i.id > ? AND i.transfer_target = ? AND i.transfer_failure IS NOT NULL AND i.moved_to IS NULL
                ORDER BY i.id LIMIT ?
                """, [row, recipient.rawValue, limit]
            ).map { found in
                UnmovedPerson(
                    row: found[0] as Int64? ?? 0, user: UserID(unchecked: try found.text(1)),
                    externalID: found[2] as String?, step: found[3] as Bool? ?? false ? .export : .import,
                    reason: try found.text(4), askedAt: try found.moment(5))
            }
        }
    }
}
