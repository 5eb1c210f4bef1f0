/// Why the store did not do as asked.
package enum StoreError: Error, Hashable, Sendable {
    /// Disk full or I/O error: nothing was written.
    case unavailable(String)
    /// Another process holds the lock too long.
    case busy(String)
    /// The database is damaged or of a newer schema.
    case corrupt(String)
    /// Our own bug, said plainly: a constraint was violated.
    case inconsistent(String)
}

/// The error of a caller of the store.
package protocol StoreFailure: Error {
    init(store error: StoreError)
}

extension StoreFailure {
    /// Runs a call of the store, whose error becomes the caller's.
    @discardableResult
    package static func mapping<Value>(
        _ call: @autoclosure () async throws(StoreError) -> Value
    ) async throws(Self) -> Value {
        do throws(StoreError) {
            return try await call()
        } catch {
            throw Self(store: error)
        }
    }
}
