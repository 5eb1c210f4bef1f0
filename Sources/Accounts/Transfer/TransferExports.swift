package import Coding
import Storage

extension Database {
    /// People of `team`, by subject, who have not moved or been asked about; `again` includes those Apple refused.
    package func peopleToExport(
        of team: TeamID, to recipient: TeamID, again: Bool, after last: AppleSubject?, limit: Int
    ) async throws(Failure) -> [AppleSubject] {
        try await read { snapshot in
            try snapshot.rows(
                """
                SELECT subject FROM apple_identity
                WHERE team = ? AND subject > ? AND moved_to IS NULL AND (transfer_target IS DISTINCT FROM ?
                OR (transfer_subject IS NULL AND (transfer_failure IS NULL OR ?))) ORDER BY subject LIMIT ?
                """, [team, last?.rawValue ?? "", recipient, again, limit]
            ).map { try $0["subject"] }
        }
    }

    @discardableResult
    package func keepExports(
        _ answers: [TransferAnswer<AppleSubject, TransferSubject>], of team: TeamID, to recipient: TeamID,
        at now: Timestamp
    ) async throws(Failure) -> Int {
        try await write(at: now) { transaction in
            var taken = 0
            for answer in answers {
                let row: Int64? = try transaction.value(
                    "SELECT id FROM apple_identity WHERE team = ? AND subject = ? AND moved_to IS NULL",
                    [team, answer.person])
                guard let row else { continue }
                switch answer.outcome {
                case .refused(let reason): try transaction.keepExportFailure(reason, for: recipient, row: row)
                case .value(let name):
                    if try transaction.isTransferSubjectTaken(name, for: recipient, by: row) {
                        taken += 1
                        try transaction.keepExportFailure(TransferFailure.contradiction, for: recipient, row: row)
                    } else {
                        try transaction.keepTransferSubject(name, for: recipient, row: row)
                    }
                }
            }
            return taken
        }
    }
    package func transferCounts(from sender: TeamID?, to recipient: TeamID) async throws(Failure) -> TransferCounts {
        try await read { snapshot in
            var counts = TransferCounts()
            if let sender {
                counts.unasked = try snapshot.count(
                    """
                    SELECT count(*) FROM apple_identity
                    WHERE team = ? AND transfer_target IS DISTINCT FROM ? AND moved_to IS NULL
                    """, [sender, recipient])
            }
            let row = try snapshot.firstRow(
                """
                SELECT count(*) FILTER (WHERE moved_to IS NOT NULL) AS moved,
                count(*) FILTER (WHERE moved_to IS NULL AND transfer_subject IS NULL) AS refused_at_export,
                count(*) FILTER (WHERE moved_to IS NULL AND transfer_subject IS NOT NULL
                    AND transfer_failure IS NULL) AS exported,
                count(*) FILTER (WHERE moved_to IS NULL AND transfer_subject IS NOT NULL
                    AND transfer_failure IS NOT NULL) AS refused_at_import,
                min(transfer_asked_at) AS first_export_at FROM apple_identity
                WHERE transfer_target = ?1 AND (CAST(?2 AS TEXT) IS NULL OR team = ?2)
                """, [recipient, sender])
            guard let row else { return counts }
            counts.moved = try row["moved"]
            counts.refusedAtExport = try row["refused_at_export"]
            counts.exported = try row["exported"]
            counts.refusedAtImport = try row["refused_at_import"]
            counts.firstExportAt = try row["first_export_at"]
            return counts
        }
    }

    /// Which team exported people to which; those with people waiting come first.
    package func transferRoutes() async throws(Failure) -> [TransferRoute] {
        try await read { snapshot in
            try snapshot.rows(
                """
                SELECT team, transfer_target, count(*) AS exported, count(*) FILTER (WHERE moved_to IS NULL) AS waiting
                FROM apple_identity WHERE transfer_target IS NOT NULL AND transfer_subject IS NOT NULL
                GROUP BY team, transfer_target ORDER BY waiting DESC, team, transfer_target
                """
            ).map { row in
                TransferRoute(
                    sender: try row["team"], recipient: try row["transfer_target"], exported: try row["exported"],
                    waiting: try row["waiting"])
            }
        }
    }

    /// Exported people, by subject: the lines of the file.
    package func transferLines(
        from sender: TeamID, to recipient: TeamID, after last: AppleSubject?, limit: Int
    ) async throws(Failure) -> [TransferLine] {
        try await read { snapshot in
            try snapshot.rows(
                """
                SELECT subject, transfer_subject FROM apple_identity
                WHERE team = ? AND subject > ? AND transfer_target = ? AND transfer_subject IS NOT NULL
                ORDER BY subject LIMIT ?
                """, [sender, last?.rawValue ?? "", recipient, limit]
            ).map { row in
                TransferLine(
                    sender: sender, subject: try row["subject"], recipient: recipient,
                    transferSubject: try row["transfer_subject"])
            }
        }
    }

    /// People who could not move, in the order in which Apple was asked.
    package func unmovedPeople(
        to recipient: TeamID, after last: TimedPlace?, limit: Int
    ) async throws(Failure) -> Page<UnmovedPerson, TimedPlace> {
        try await read { snapshot in
            var wanted = Conditions(
                "i.transfer_target = ? AND i.transfer_failure IS NOT NULL AND i.moved_to IS NULL", [recipient])
            if let last { wanted.add("(i.transfer_asked_at, i.subject) > (?, ?)", [last.time, last.id]) }
            return try snapshot.page(
                """
                SELECT i.user, i.subject, u.external_id, i.transfer_subject IS NULL AS is_export, i.transfer_failure,
                i.transfer_asked_at FROM apple_identity i JOIN user u ON u.id = i.user \(wanted.clause)
                ORDER BY i.transfer_asked_at, i.subject LIMIT ?
                """, wanted.arguments, limit: limit, place: \.place
            ) { row in
                let isExport: Bool = try row["is_export"]
                return UnmovedPerson(
                    place: TimedPlace(time: try row["transfer_asked_at"], id: try row["subject"]),
                    user: try row["user"], externalID: try row["external_id"], step: isExport ? .export : .import,
                    reason: try row["transfer_failure"])
            }
        }
    }
}

extension Transaction {
    fileprivate func keepExportFailure(_ reason: String, for recipient: TeamID, row: Int64) throws {
        try run(
            """
            UPDATE apple_identity SET transfer_target = ?, transfer_subject = NULL, transfer_asked_at = ?,
            transfer_failure = ? WHERE id = ?
            """, [recipient, now, reason, row])
    }
}
