/// One step of the schema. Append-only: a released step is never changed, renamed or removed.
///
/// Servers are updated one after another, so a step that takes something away comes a version after the one that stopped
/// using it.
struct SchemaStep: Sendable {
    let name: String
    /// The newest step that a version must know to go on with a database that has this one; nil: this one.
    var admits: String?
    let sql: String

    /// The tables that it makes; those that others refer to come first.
    var tables: [String] {
        sql.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            return words.starts(with: ["CREATE", "TABLE"]) ? String(words[2]) : nil
        }
    }
}

/// The schema, step by step.
///
/// Times are integer milliseconds since 1970 UTC, digests 32-byte blobs, identifiers their prefixed text. Values of
/// Swift enumerations are validated when read, so a later step need not rebuild a table to add a case.
///
/// Every index is written with its row: there is none that only retention would use, where a table is small or its key
/// begins with a time.
enum Schema {
    /// `PRAGMA application_id`: "Brml".
    static let applicationID = 0x4272_6D6C

    static let steps: [SchemaStep] = [
        first, openID, logoutTokens, operatorPage, narrowedTokens, search, outgoing, withoutPasswords,
    ]

    /// The tables of the first release. Its number goes on from the steps of versions that were never released.
    static let first = SchemaStep(
        name: "0023-first-release",
        sql: people + credentials + sessions + journal + notifications + links + webhooks + operations + keys)
}
