package import Storage

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

/// What another module lets the store do.
package typealias StoreTask = @Sendable () async throws(StoreError) -> Void
