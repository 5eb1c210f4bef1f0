import Coding
package import Storage

/// The schema, step by step.
///
/// Times are integer milliseconds since 1970 UTC, digests 32-byte blobs, identifiers their prefixed text. Values of
/// Swift enumerations are validated when read, so a later step need not rebuild a table to add a case.
///
/// Every index costs a write with each row, so small tables, and those whose key begins with a time, have none that
/// only retention would use.
package enum Schema {
    package static let steps: [SchemaStep] = [
        first, openID, logoutTokens, operatorPage, narrowedTokens, search, outgoing, withoutPasswords, lastSignIn,
        organization, endedAccess, consent, device,
    ]

    /// The tables of the first release. Its number follows the steps of versions that were never released.
    static let first = SchemaStep(
        name: "0023-first-release",
        sql: people + credentials + sessions + journal + notifications + links + webhooks + operations + keys)

    /// The schema in the form that the store needs.
    static func owned(
        by context: StoreContext, steps: [SchemaStep], invalidations: SessionInvalidations
    ) -> StoreSchema {
        StoreSchema(
            steps: steps, content: ["user", "event", "audit", "api_key", "openid_client"],
            start: { connection, now in try Transaction(connection, context, at: now).finishConvertingLinks() },
            sealingKeyChanged: { connection, key, now in
                try Transaction(connection, context, at: now).audit(.sealingKeyChanged, object: key)
            },
            changes: { connection, position in
                let snapshot = Snapshot(connection, context, at: Timestamp(milliseconds: 0))
                guard let position else { return Changes(try snapshot.journalEnd()) }
                return try snapshot.changes(after: position, invalidations)
            })
    }
}
