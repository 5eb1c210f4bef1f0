import Storage

// What the operator's page shows.
extension Schema {
    /// Older versions cannot read its event `user.pending`.
    static let operatorPage = SchemaStep(
        name: "0026-operator",
        sql: """
            CREATE INDEX user_pending ON user (created_at, id) WHERE state = 'pending';

            -- How sign-ins ended, by hour. No people: each server adds its own numbers.
            CREATE TABLE sign_in_hour (
                hour INTEGER NOT NULL,
                outcome TEXT NOT NULL,
                reason TEXT NOT NULL,
                number INTEGER NOT NULL,
                PRIMARY KEY (hour, outcome, reason)
            ) STRICT, WITHOUT ROWID;

            CREATE TABLE server (
                id TEXT PRIMARY KEY,
                host TEXT NOT NULL,
                version TEXT NOT NULL,
                started_at INTEGER NOT NULL,
                seen_at INTEGER NOT NULL
            ) STRICT, WITHOUT ROWID;

            """)
}
