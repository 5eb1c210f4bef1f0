/// Why a store operation failed.
package enum StoreError: Error, Hashable, Sendable {
    /// Disk full or I/O error: nothing was written.
    case unavailable(String)
    /// Another process held the lock too long.
    case busy(String)
    /// The database is damaged, or its schema is newer.
    case corrupt(String)
    /// A constraint was violated: a bug in Bramley.
    case inconsistent(String)

    package static let late = StoreError.unavailable("no answer in time")
}

/// The error type of code that calls the store.
package protocol StoreFailure: Error {
    init(store error: StoreError)
}

extension StoreFailure {
    /// Calls the store and maps its error to the caller's.
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
