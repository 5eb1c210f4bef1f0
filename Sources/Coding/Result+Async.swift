extension Result {
    /// What `body` returns or throws, where typed errors are not possible: in a task, or the scope of a task local.
    @inlinable
    package init(_ body: () async throws(Failure) -> Success) async {
        do throws(Failure) { self = .success(try await body()) } catch { self = .failure(error) }
    }
}

/// Returns what `work` returns, and translates its error into one of the caller's.
@inlinable
package func translating<Value, Thrown: Error, Reported: Error>(
    _ work: @autoclosure () throws(Thrown) -> Value, _ report: (Thrown) -> Reported
) throws(Reported) -> Value {
    do throws(Thrown) { return try work() } catch { throw report(error) }
}

/// The same for asynchronous work.
@inlinable
package func translating<Value, Thrown: Error, Reported: Error>(
    _ work: @autoclosure () async throws(Thrown) -> Value, _ report: (Thrown) -> Reported
) async throws(Reported) -> Value {
    do throws(Thrown) { return try await work() } catch { throw report(error) }
}
