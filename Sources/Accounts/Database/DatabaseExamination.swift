package import Coding
package import Crypto
package import Storage

/// The content of a database file, all of which is read while nobody writes to it.
package struct DatabaseExamination: Hashable, Sendable {
    package let file: FileExamination
    package let users: Int
    /// Live sessions.
    package let sessions: Int

    /// The database must open with `keyring` and match the stamp of `origin`; nil skips that check. Without a keyring, it
    /// must have that stamp.
    package static func examine(
        _ path: String, keyring: SealingKeyring? = nil, origin: DatabaseOrigin? = nil, at now: Timestamp
    ) throws(StorageOpenError) -> DatabaseExamination {
        var counts = (users: 0, sessions: 0)
        let file = try FileExamination.examine(path, steps: Schema.steps, keyring: keyring, origin: origin) {
            counts = try count($0, at: now)
        }
        return DatabaseExamination(file: file, users: counts.users, sessions: counts.sessions)
    }

    /// The same on the calling thread. Throws `CancellationError` soon after the task is cancelled.
    package static func examineUntilCancelled(
        _ path: String, keyring: SealingKeyring? = nil, origin: DatabaseOrigin? = nil, at now: Timestamp
    ) async throws -> DatabaseExamination {
        var counts = (users: 0, sessions: 0)
        let file = try await FileExamination.examineUntilCancelled(
            path, steps: Schema.steps, keyring: keyring, origin: origin
        ) { counts = try count($0, at: now) }
        return DatabaseExamination(file: file, users: counts.users, sessions: counts.sessions)
    }

    private static func count(
        _ connection: any EngineConnection, at now: Timestamp
    ) throws -> (users: Int, sessions: Int) {
        let users = try connection.value("SELECT count(*) FROM user").integer ?? 0
        let sessions =
            try connection.value("SELECT count(*) FROM session WHERE expires_at > ?", [.integer(now.milliseconds)])
            .integer ?? 0
        return (Int(users), Int(sessions))
    }
}
