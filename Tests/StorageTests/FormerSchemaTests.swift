import Coding
import Foundation
import RelyingParty
import Strangers
import Testing

@testable import Storage

/// A database of the last version before the first release, opened by this one.
@Suite struct FormerSchemaTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    private static var fixture: String {
        get throws {
            let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Former/schema-0022.sql")
            return try String(contentsOf: file.standardized, encoding: .utf8)
        }
    }

    /// Numbers up to 11 were given to events, and up to 7 to endpoints, of which the first alone is left.
    private func makeFormer() throws {
        let stranger = try bench.stranger()
        if bench.postgres == nil {
            try stranger.execute("PRAGMA application_id = \(Schema.applicationID)")
            try stranger.execute(Self.fixture)
            try stranger.execute("UPDATE sqlite_sequence SET seq = 7 WHERE name = 'webhook_endpoint'")
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o600], ofItemAtPath: bench.folder.path + "/bramley.db")
        } else {
            try stranger.execute(PostgresSchema.foundation)
            try stranger.execute("ALTER TABLE store_poll RENAME COLUMN polled_at TO polls")
            try stranger.execute(PostgresSchema.text(Self.fixture).replacing("X'", with: "'\\x"))
            for (table, column, last) in [
                ("event", "sequence", 11), ("audit", "sequence", 11), ("webhook_endpoint", "id", 7),
                ("revocation", "id", 1),
            ] {
                try stranger.execute("SELECT setval(pg_get_serial_sequence('\(table)', '\(column)'), \(last))")
            }
        }
        try stranger.execute(
            "UPDATE meta SET value = \(bench.postgres == nil ? "CAST('real' AS BLOB)" : "'real'") WHERE key = 'origin'")
    }

    @Test("every row is there, and the schema is that of a new database")
    func keepsEverything() async throws {
        try makeFormer()
        let tables = [
            "user", "apple_identity", "apple_credential", "first_consent", "session", "used_attempt", "event",
            "audit", "notification", "webhook_endpoint", "webhook_delivery", "api_key", "account_link", "code_exchange",
            "revocation", "consent_end", "waiting_identity", "username_try", "rsa_signing_key", "credential_pause",
        ]
        func contents() throws -> [String] {
            let stranger = try bench.stranger()
            return try tables.flatMap { table in
                let columns =
                    table == "event"
                    ? "sequence, type, time, user, session, cause, fields, external_id"
                    : table == "session"
                        ? "token_hash, id, user, identity, last_seen_at, expires_at"
                        : table == "user" ? "id, state, external_id, groups, email, created_at, updated_at" : "*"
                let rows = try stranger.rows("SELECT \(columns) FROM \(table)")
                #expect(!rows.isEmpty, "\(table)")
                return rows.map { row in
                    table
                        + row.names.indices.sorted { row.names[$0] < row.names[$1] }.map {
                            "\(row.names[$0])=\(row[$0])"
                        }.joined(separator: "|")
                }.sorted()
            }
        }
        let before = try contents()
        // Of an app's attempt, whose identifier did not begin with its time.
        try bench.stranger().execute(
            "INSERT INTO used_attempt (attempt, binding_hash, expires_at) VALUES (?, ?, 1)",
            [[UInt8](repeating: 0xEE, count: 32), [UInt8](repeating: 1, count: 32)])
        let database = try bench.open()
        defer { database.close() }
        #expect(try contents() == before)

        let fresh = try Bench()
        try fresh.open().close()
        #expect(try definitions(bench) == definitions(fresh))
        let steps = "SELECT name FROM migration"
        #expect(try bench.stranger().texts(steps) == fresh.stranger().texts(steps))

        // Numbers go on, ids of events are found, and what was signed in is examined in its time.
        let events = try await database.events(after: nil, limit: 100)
        #expect(events.count == 11)
        #expect(try await database.events(after: events[9].id, limit: 100).map(\.id) == [events[10].id])
        let now = try #require(events.last).time
        #expect(try await database.completeSignIn(record(at: now)).session != nil)
        #expect(try bench.stranger().integer("SELECT max(sequence) FROM event") == 13)
        try database.setWebhookEndpoints(["https://new.example/"], at: now)
        #expect(try bench.stranger().integer("SELECT max(id) FROM webhook_endpoint") == 8)
        #expect(try await database.maintain(at: now.adding(seconds: 90_000)).sessions == 4)
    }

    @Test("one of an older step is refused by the name of that step")
    func refusesOlder() throws {
        try makeFormer()
        let stranger = try bench.stranger()
        try stranger.execute("DELETE FROM migration WHERE name > '0018'")
        let place = bench.postgres == nil ? bench.folder.path + "/bramley.db" : "of storage.postgres.url"
        let last = try #require(try stranger.text("SELECT max(name) FROM migration"))
        #expect(throws: StorageOpenError.tooOld(place, migration: last)) { _ = try bench.open() }
    }

    /// Columns, constraints and indexes, in an order of our own.
    private func definitions(_ bench: Bench) throws -> [String] {
        let stranger = try bench.stranger()
        guard bench.postgres != nil else {
            return try stranger.texts("SELECT coalesce(sql, tbl_name) FROM sqlite_schema ORDER BY type, name")
        }
        return try stranger.texts(
            """
            SELECT table_name || ' ' || column_name || ' ' || data_type || ' ' || is_nullable
                || ' ' || coalesce(column_default, '') || ' ' || is_identity
            FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY 1
            """)
            + stranger.texts(
                """
                SELECT CAST(CAST(conrelid AS regclass) AS TEXT) || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
                WHERE connamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) ORDER BY 1
                """)
            + stranger.texts(
                """
                SELECT CAST(indexname AS TEXT) || ' ' || substring(indexdef from ' USING .*') FROM pg_indexes
                WHERE schemaname = current_schema() AND indexname NOT IN (SELECT conname FROM pg_constraint) ORDER BY 1
                """)
    }
}
