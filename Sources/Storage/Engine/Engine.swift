package import Coding

/// A database and its connections: an SQLite file, or PostgreSQL.
package protocol Engine: Sendable {
    /// Path or address, without any secret, as messages name it.
    var location: String { get }
    /// The only connection of this process that writes.
    var writer: ConnectionQueue { get }
    /// For reads of several statements.
    var reader: ConnectionQueue { get }
    /// For counting, opened on first use, so that no other read waits for it.
    func counting() throws -> ConnectionQueue

    /// Runs one statement that finds a row by its key, concurrent with any write.
    func lookUp(_ body: @escaping @Sendable (any EngineConnection) throws -> Void) async throws(StoreError)
    /// A connection for the look-ups of one event loop, on its thread; nil where each look-up goes over the network.
    func loopConnection() throws -> (any EngineConnection)?

    /// Evicts from the caches what other processes have changed. Called every 250 ms; does not block.
    func watch(at now: Timestamp)
    /// Returns once the caches may be trusted at `now`.
    func ensureTrust(at now: Timestamp) async throws(StoreError)
    /// How far the clock that all processes share is ahead of this machine's, in milliseconds.
    var clockDifference: Int64 { get }
    /// Why nothing can be read or written now; nil while all is well, as far as `watch` knows.
    var obstacle: StoreError? { get }
    /// Erases from the files what was erased from the tables since the last call. `isCertain`: the caller knows of
    /// some.
    func eraseRemains(isCertain: Bool) async throws(StoreError)
    /// What durability and privacy depend on, read back.
    func settings() throws -> [String: String]
    /// Closes everything; called once, after the last write.
    func close()
}

extension Engine {
    package func ensureTrust(at now: Timestamp) async throws(StoreError) {}
    package var clockDifference: Int64 { 0 }
    package var obstacle: StoreError? { nil }
}
