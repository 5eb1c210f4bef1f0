/// The PostgreSQL schema with the tables, in which nobody else may create anything.
///
/// PostgreSQL looks names up along `search_path`; a function or an operator that fits the arguments better than its own
/// wins. So anyone who may create something in a schema of that path can run code as our role (CVE-2018-1058). Every
/// connection therefore searches only one schema, after `pg_catalog`, which is always first when the path does not name
/// it, and that schema is refused while others may create in it.
struct PostgresOwnSchema {
    static let name = "bramley"

    let name: String
    /// Where earlier versions created the tables; nil when the operator has named a schema.
    let former: String?

    /// - Parameter path: `search_path`, as set by the connection string, the role or the database.
    /// - Throws: when it names no schema that exists.
    init(path: String, current: String?) throws(PostgresError) {
        // PostgreSQL's default; some hosting providers add schemas to its end.
        guard !path.isEmpty, !path.hasPrefix("\"$user\"") else {
            (name, former) = (Self.name, current == Self.name ? nil : current)
            return
        }
        guard let current else {
            throw PostgresError(state: "3F000", message: "the schema that search_path names does not exist: create it")
        }
        (name, former) = (current, nil)
    }

    /// Reads it from a new connection, before any name is looked up along its path.
    init(of session: PostgresSession, patience: Int) throws(PostgresError) {
        let answer = try session.query(
            "SELECT pg_catalog.current_setting('search_path'), pg_catalog.current_schema()", patience: patience)
        guard let values = try answer.rows().first?.values, values.count == 2, case .text(let path) = values[0] else {
            throw PostgresError(message: "the connection does not report its search_path")
        }
        self = try Self(path: path, current: values[1].text)
    }

    /// Set on every connection. Temporary objects come last: they are this connection's own.
    var searchPath: String { "\(Self.quoted(name)), pg_temp" }

    static func quoted(_ name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
}

extension PostgresConnection {
    /// Refuses a schema in which anyone but its owner may create something, or has.
    func requireOwnSchema(_ location: String) throws {
        guard let schema = schema?.name else { return }
        let others = try rows(PostgresOwnSchema.others, [.text(schema)]).map { try $0.text("name") }
        guard others.isEmpty else {
            throw StorageOpenError.openSchema(location, schema: schema, to: Set(others).sorted())
        }
    }

    /// Creates the schema and the tables that transactions need, or adopts those that an earlier version created
    /// elsewhere.
    /// - Parameter tables: all tables of this version.
    func prepareSchema(_ location: String, tables: Set<String>) throws {
        for _ in 0..<9 {
            do {
                return try prepareSchemaOnce(location, tables)
            } catch let error as PostgresError where PostgresOwnSchema.isRace(error) {
                // Another server that is starting was first.
                PostgresSession.pause(milliseconds: 100)
            }
        }
        try prepareSchemaOnce(location, tables)
    }

    private func prepareSchemaOnce(_ location: String, _ tables: Set<String>) throws {
        try beginWithoutLock()
        do {
            try makeSchema()
            try requireOwnSchema(location)
            try adoptFormerTables(location, tables.union(PostgresDialect.foundationTables))
            try execute(sql: PostgresDialect.foundation)
            try commit()
        } catch {
            rollBack()
            throw error
        }
    }

    private func makeSchema() throws {
        // Check first: CREATE SCHEMA IF NOT EXISTS needs a right on the database even if the schema exists.
        guard let schema = schema?.name,
            try firstRow("SELECT 1 AS found FROM pg_namespace WHERE nspname = CAST(? AS name)", [.text(schema)]) == nil
        else { return }
        try execute(sql: "CREATE SCHEMA \(PostgresOwnSchema.quoted(schema))")
    }

    /// Earlier versions created the tables in the first schema of the path, usually `public`.
    private func adoptFormerTables(_ location: String, _ tables: Set<String>) throws {
        guard let former = schema?.former, try allTables().isEmpty else { return }
        let found = try rows(
            """
            SELECT CAST(tablename AS TEXT) AS name, CAST(tableowner AS TEXT) AS owner,
                CAST(tableowner = current_user AS INTEGER) AS is_ours
            FROM pg_tables WHERE schemaname = CAST(? AS name)
            """, [.text(former)]
        ).map { row in
            (name: try row.text("name"), owner: try row.text("owner"), isOurs: try row.integer("is_ours"))
        }.filter { tables.contains($0.name) }
        guard Set(found.map(\.name)).isSuperset(of: PostgresDialect.foundationTables) else { return }
        // Prepared by a stranger, or restored by an operator under another role.
        if let other = found.first(where: { $0.isOurs == 0 }) {
            throw StorageOpenError.unusable(
                location,
                detail: "the table \(other.name) in its schema \(former) belongs to \(other.owner); give the tables to "
                    + "Bramley's role (REASSIGN OWNED), or remove them")
        }
        let schema = PostgresOwnSchema.quoted(former)
        let target = PostgresOwnSchema.quoted(PostgresOwnSchema.name)
        // Nobody writes meanwhile, and another server that is starting finds them moved.
        try execute(sql: "LOCK TABLE \(schema).store_lock")
        for table in found.map(\.name).sorted() {
            try execute(sql: "ALTER TABLE \(schema).\(PostgresOwnSchema.quoted(table)) SET SCHEMA \(target)")
        }
        let functions = try rows(
            """
            SELECT CAST(CAST(oid AS regprocedure) AS TEXT) AS signature FROM pg_proc
            WHERE pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = CAST(? AS name))
            AND proname IN ('min', 'max', 'json_each') AND pg_get_userbyid(proowner) = current_user
            """, [.text(former)]
        ).map { try $0.text("signature") }
        for function in functions { try execute(sql: "DROP FUNCTION \(function)") }
    }
}

extension PostgresOwnSchema {
    /// Whether another server created or moved the same object at the same time: a retry may succeed.
    fileprivate static func isRace(_ error: PostgresError) -> Bool {
        // Unique violation, duplicate schema, table, object and function, a table gone, deadlock; and "tuple concurrently
        // updated", which has no state of its own.
        ["23505", "42P06", "42P07", "42710", "42723", "42P01", "40P01", "XX000"].contains(error.state)
    }

    /// Roles that may create in the schema, or own code in it, which would run as our role. Superusers, the database's
    /// owner, and the roles that ours is a member of are trusted: they could do that anyway.
    fileprivate static let others = """
        WITH chosen AS (
            SELECT oid, nspowner, nspacl FROM pg_namespace WHERE nspname = CAST(? AS name)
        ), trusted AS (
            SELECT oid FROM pg_roles
            WHERE rolsuper OR rolname = current_user OR rolname = 'pg_database_owner'
            OR oid = (SELECT datdba FROM pg_database WHERE datname = current_database())
        )
        SELECT CAST(pg_get_userbyid(nspowner) AS TEXT) AS name FROM chosen
        WHERE nspowner NOT IN (SELECT oid FROM trusted) AND NOT pg_has_role(nspowner, 'MEMBER')
        UNION
        SELECT CASE granted.grantee WHEN 0 THEN 'PUBLIC' ELSE CAST(pg_get_userbyid(granted.grantee) AS TEXT) END
        FROM chosen, aclexplode(chosen.nspacl) AS granted
        WHERE granted.privilege_type = 'CREATE' AND granted.grantee <> chosen.nspowner
        AND granted.grantee NOT IN (SELECT oid FROM trusted)
        UNION
        SELECT CAST(pg_get_userbyid(code.owner) AS TEXT)
        FROM chosen, (
            SELECT proowner AS owner, pronamespace AS schema FROM pg_proc
            UNION ALL SELECT oprowner, oprnamespace FROM pg_operator
        ) AS code
        WHERE code.schema = chosen.oid AND code.owner <> chosen.nspowner
        AND code.owner NOT IN (SELECT oid FROM trusted)
        """
}
