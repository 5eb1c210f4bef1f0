package import Coding
package import Crypto
import Foundation
import LogRecording
import TemporaryFolders

@testable package import Accounts
@testable import Storage

/// The real database in a temporary folder, gone when the test is: a copy of one that is made once a run, over an engine
/// that fails on demand.
package final class TestDatabase: Sendable {
    package static let team = TeamID("TEAM123456")
    /// Which every copy belongs to.
    package static let keyring = SealingKeyring(
        current: SealingKey(material: SecretBytes([UInt8](repeating: 7, count: 32))))

    package let store: Accounts.Database
    package let faults = Faults()
    /// The store can be used after this is gone: its files are open.
    private let folder = TestDatabase.makeFolder()

    package init(
        limits: SessionLimits, onAccountDeleted: AccountDeletionPolicy = .erase, clock: any WallClock
    ) {
        let (path, faults) = (Store.path(in: folder.path), faults)
        guard
            FileManager.default.createFile(
                atPath: path, contents: Self.template, attributes: [.posixPermissions: 0o600])
        else { fatalError("\(path) cannot be written") }
        // Its schema is current: it is not looked through for missing steps.
        store = Self.open(folder.path, limits, onAccountDeleted, use: .successor, clock: clock) {
            FailingEngine($0, faults)
        }
        // No test of these ends with the machine.
        store.store.engine.writer.sync { connection in _ = try? connection.execute(sql: "PRAGMA synchronous = OFF") }
    }

    /// A new database's file.
    private static let template: Data = {
        let folder = makeFolder()
        defer { withExtendedLifetime(folder) {} }
        open(folder.path, SessionLimits(lifetime: 1, idleTimeout: 1), .erase, use: .server, clock: ManualClock()) { $0 }
            .close()
        guard let data = FileManager.default.contents(atPath: Store.path(in: folder.path)) else {
            fatalError("there is no new database")
        }
        return data
    }()

    private static func makeFolder() -> TemporaryFolder {
        do {
            return try TemporaryFolder()
        } catch {
            fatalError("a folder cannot be made: \(error)")
        }
    }

    private static func open(
        _ folder: String, _ limits: SessionLimits, _ onAccountDeleted: AccountDeletionPolicy,
        use: StoreOptions.Use, clock: any WallClock, over wrap: (any Engine) -> any Engine
    ) -> Accounts.Database {
        var options = DatabaseOptions(
            StoreOptions(directory: folder, origin: .real, busyTimeout: 20_000, use: use), sessionLimits: limits,
            onAccountDeleted: onAccountDeleted)
        // Of no test's concern: the machine may be slow.
        options.store.optionalWritePatience = .seconds(60)
        do {
            return try Database(
                options: options, keyring: keyring,
                runtime: Runtime(clock: clock, random: SystemRandom(), logger: .silent),
                steps: Schema.steps, over: wrap)
        } catch {
            fatalError("the database does not open: \(error)")
        }
    }

    /// Reads and writes what tests look for or put there, whatever fails for others: no event is written and nothing
    /// invalidated, unless `body` does.
    @discardableResult
    func change<Value>(at now: Timestamp = Timestamp(milliseconds: 0), _ body: (Transaction) throws -> Value) -> Value {
        do {
            return try store.store.engine.writer.sync { connection in
                let connection = (connection as? FailingConnection)?.real ?? connection
                return try connection.inTransaction { try body(Transaction(connection, store.context, at: now)) }
            }
        } catch {
            fatalError("\(error)")
        }
    }

    /// Runs one statement without parameters.
    package func execute(_ sql: String) { change { try $0.run(sql) } }

    /// The number that a statement selects.
    package func number(_ sql: String) -> Int { change { try $0.count(sql) } }
}
