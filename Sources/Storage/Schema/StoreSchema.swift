package import Coding

/// One step of the schema. Append-only: a released step is never changed, renamed or removed.
///
/// Servers are updated one by one, so a table or column is removed one version after its last use.
package struct SchemaStep: Sendable {
    package let name: String
    /// The newest step that a version must know to use a database that has this one; nil for this one.
    package var admits: String?
    package let sql: String

    package init(name: String, admits: String? = nil, sql: String) {
        self.name = name
        self.admits = admits
        self.sql = sql
    }

    /// The tables that it creates; those that others refer to come first.
    var tables: [String] {
        sql.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            return words.starts(with: ["CREATE", "TABLE"]) ? String(words[2]) : nil
        }
    }

    /// The tables whose deletions cascade to others.
    var referenced: Set<Substring> {
        let words = sql.split { $0 == " " || $0 == "\n" }
        return Set(zip(words, words.dropFirst()).filter { $0.0 == "REFERENCES" }.map(\.1))
    }
}

/// The tables of a store, described by their owner: the store itself knows none of their names.
package struct StoreSchema: Sendable {
    package let steps: [SchemaStep]
    /// A database with a row in one of these is in use.
    package let content: [String]
    /// Runs at a server's start, in the transaction of the steps.
    package let start: @Sendable (any EngineConnection, Timestamp) throws -> Void
    /// Runs in the transaction that stamps another sealing key, with the key's ID.
    package let sealingKeyChanged: @Sendable (any EngineConnection, String, Timestamp) throws -> Void
    /// The writes of all processes since a position; nil for the present position.
    package let changes: @Sendable (any EngineConnection, ChangePosition?) throws -> Changes

    package init(
        steps: [SchemaStep], content: [String],
        start: @escaping @Sendable (any EngineConnection, Timestamp) throws -> Void,
        sealingKeyChanged: @escaping @Sendable (any EngineConnection, String, Timestamp) throws -> Void,
        changes: @escaping @Sendable (any EngineConnection, ChangePosition?) throws -> Changes
    ) {
        self.steps = steps
        self.content = content
        self.start = start
        self.sealingKeyChanged = sealingKeyChanged
        self.changes = changes
    }

    var tables: Set<String> { steps.reduce(into: Migrations.tables) { $0.formUnion($1.tables) } }
    var referenced: Set<Substring> { steps.reduce(into: []) { $0.formUnion($1.referenced) } }
}

/// A reader's position in the writes of all processes: the newest one it knows. After a primary was lost, its successor
/// may assign the last numbers again; their salt is random.
package struct ChangePosition: Hashable, Sendable {
    /// 0 before the first ever.
    package let number: Int64
    /// Nil without a write of this number.
    package let salt: [UInt8]?

    package init(number: Int64, salt: [UInt8]?) {
        self.number = number
        self.salt = salt
    }
}

package struct Changes: Sendable {
    package let position: ChangePosition
    /// Whether a person was, or may have been, erased.
    package var erased = false
    package var forget: @Sendable () -> Void = {}

    package init(_ position: ChangePosition) { self.position = position }
}
