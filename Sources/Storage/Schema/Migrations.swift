import Coding
import Crypto

/// Compares the steps of a database's schema with those of this version.
struct SchemaCheck {
    let location: String
    let steps: [SchemaStep]

    private var newest: String { steps.last?.name ?? "none" }

    /// The missing steps, in order.
    /// - Throws: `StorageOpenError.newerSchema` when it has a step this version does not know, and that does not admit it.
    func pendingSteps(_ connection: any EngineConnection) throws -> [SchemaStep] {
        let applied = Set(try connection.rows("SELECT name FROM migration").map { try $0.text("name") })
        if let unknown = applied.subtracting(steps.map(\.name)).max() {
            guard isAdmitted(by: try connection.stored(Migrations.oldestAdmitted)) else {
                throw StorageOpenError.newerSchema(location, migration: unknown, known: newest)
            }
        }
        return steps.filter { !applied.contains($0.name) }
    }

    /// Whether this version may use a database with this value of `Migrations.oldestAdmitted`.
    func isAdmitted(by oldest: [UInt8]?) -> Bool {
        guard let oldest else { return false }
        return newest >= String(decoding: oldest, as: UTF8.self)
    }
}

/// Updates a database to the current schema and checks its stamps, in one transaction: two processes that start
/// together, or one that dies in between, leave nothing half-done.
package struct Migrations {
    private static let originKey = "origin"
    private static let sealingKey = "sealing-key-check"
    /// The key that a server was last started with.
    package static let sealingKeyID = "sealing-key-id"
    /// When a server was first started with it; milliseconds as text.
    package static let sealingKeySince = "sealing-key-since"
    /// The name of the step that a version must know: the newest that an applied one admits.
    static let oldestAdmitted = "oldest-admitted"
    /// The target of a completed `bramley move`.
    static let movedTo = "moved-to"
    /// The number of that move: in the old database, and in the new one until the old one is marked.
    static let moveID = "move-id"
    static let unfinishedMoveID = "unfinished-move-id"
    /// Created before the first step.
    static let tables: Set = ["meta", "migration"]
    private static let checkPurpose = SealingPurpose.other("database-check")
    private static let checkText = Array("bramley".utf8)

    let location: String
    let origin: DatabaseOrigin
    let keyring: SealingKeyring
    let schema: SchemaCheck
    /// For `bramley move`, which completes an interrupted move.
    private let admitsMoved: Bool

    init(
        location: String, steps: [SchemaStep], origin: DatabaseOrigin, keyring: SealingKeyring,
        admitsMoved: Bool = false
    ) {
        self.location = location
        self.admitsMoved = admitsMoved
        self.origin = origin
        self.keyring = keyring
        schema = SchemaCheck(location: location, steps: steps)
    }

    /// Refuses another program's file, before anything is changed. False when the file is empty.
    @discardableResult
    func inspect(_ connection: any EngineConnection) throws -> Bool {
        guard try !connection.tables().isEmpty else { return false }
        guard try connection.isOurs() else { throw StorageOpenError.foreign(location) }
        try checkStamps(connection)
        _ = try schema.pendingSteps(connection)
        return true
    }

    /// For opening next to a server: refuses a database that lacks a step.
    func requireCurrent(_ connection: any EngineConnection) throws {
        guard try connection.tables().contains("migration"), try schema.pendingSteps(connection).isEmpty
        else { throw StorageOpenError.olderSchema(location) }
    }

    func run(_ connection: any EngineConnection, for owner: StoreSchema, at now: Timestamp) throws {
        try connection.inTransaction {
            try connection.markOurs()
            try connection.define(
                """
                CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
                CREATE TABLE IF NOT EXISTS migration (
                    name TEXT PRIMARY KEY, applied_at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                """)
            try checkStamps(connection)
            for step in try schema.pendingSteps(connection) {
                try connection.define(step.sql)
                try connection.run(
                    "INSERT INTO migration (name, applied_at) VALUES (?, ?)",
                    [.text(step.name), .integer(now.milliseconds)])
            }
            try admit(connection)
            try stamp(connection, for: owner, at: now)
            try owner.start(connection, now)
        }
    }

    /// Records which older versions may still use the database.
    private func admit(_ connection: any EngineConnection) throws {
        guard let oldest = schema.steps.map({ $0.admits ?? $0.name }).max() else { return }
        let known = try connection.stored(Self.oldestAdmitted).map { String(decoding: $0, as: UTF8.self) }
        // Written by a newer version that admits this one.
        guard known.map({ $0 < oldest }) ?? true else { return }
        try connection.store(Self.oldestAdmitted, Array(oldest.utf8))
    }

    func isAdmitted(on connection: any EngineConnection) throws -> Bool {
        schema.isAdmitted(by: try connection.stored(Self.oldestAdmitted))
    }

    private func checkStamps(_ connection: any EngineConnection) throws {
        if !admitsMoved {
            if let moved = try connection.stored(Self.movedTo) {
                throw StorageOpenError.moved(location, to: String(decoding: moved, as: UTF8.self))
            }
            if try connection.stored(Self.unfinishedMoveID) != nil { throw StorageOpenError.unfinishedMove(location) }
        }
        try Self.checkOrigin(connection, location, origin)
        if let sealed = try connection.stored(Self.sealingKey), !Self.opens(sealed, keyring) {
            throw StorageOpenError.wrongSealingKey(location)
        }
    }

    /// - Returns: whether it has an origin at all.
    @discardableResult
    static func checkOrigin(
        _ connection: any EngineConnection, _ location: String, _ origin: DatabaseOrigin
    ) throws -> Bool {
        guard let found = try connection.stored(originKey) else { return false }
        let text = String(decoding: found, as: UTF8.self)
        guard let found = DatabaseOrigin(rawValue: text) else {
            throw StorageOpenError.corrupt(location, detail: "its origin reads \(text)")
        }
        guard found == origin else { throw StorageOpenError.wrongOrigin(location, found: found, expected: origin) }
        return true
    }

    /// Whether the ring contains the key that the last started server seals with.
    func fits(_ connection: any EngineConnection) throws -> Bool {
        try connection.stored(Self.sealingKey).map { Self.opens($0, keyring) } ?? false
    }

    private static func opens(_ sealed: [UInt8], _ keyring: SealingKeyring) -> Bool {
        (try? keyring.open(sealed, purpose: checkPurpose)) == checkText
    }

    /// Writes the stamps of a new database, and renews the check value under the current key.
    func stamp(_ connection: any EngineConnection, for owner: StoreSchema, at now: Timestamp) throws {
        if try connection.stored(Self.originKey) == nil {
            try connection.store(Self.originKey, Array(origin.rawValue.utf8))
        }
        let current = Array(keyring.currentKeyID.utf8)
        let before = try connection.stored(Self.sealingKeyID)
        guard before != current else { return }
        try connection.store(Self.sealingKey, keyring.seal(Self.checkText, purpose: Self.checkPurpose))
        try connection.store(Self.sealingKeyID, current)
        try connection.store(Self.sealingKeySince, Array(String(now.milliseconds).utf8))
        // A new database has no previous key.
        if before != nil { try owner.sealingKeyChanged(connection, keyring.currentKeyID, now) }
    }
}

extension EngineConnection {
    package func stored(_ key: String) throws -> [UInt8]? {
        try value("SELECT value FROM meta WHERE key = ?", [.text(key)]).blob
    }

    package func store(_ key: String, _ value: [UInt8]) throws {
        try enqueue(
            "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            [.text(key), .blob(value)])
    }

    package func forget(_ key: String) throws { try enqueue("DELETE FROM meta WHERE key = ?", [.text(key)]) }
}
