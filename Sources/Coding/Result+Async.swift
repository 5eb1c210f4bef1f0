extension Result {
    /// What `body` returns or throws, for a place that no typed error passes: a task, a task local's scope.
    @inlinable
    package init(_ body: () async throws(Failure) -> Success) async {
        do throws(Failure) { self = .success(try await body()) } catch { self = .failure(error) }
    }
}

/// What `work` returns; its error as another's, which the caller throws.
@inlinable
package func translating<Value, Thrown: Error, Reported: Error>(
    _ work: @autoclosure () throws(Thrown) -> Value, _ report: (Thrown) -> Reported
) throws(Reported) -> Value {
    do throws(Thrown) { return try work() } catch { throw report(error) }
}

/// The same with work that waits.
@inlinable
package func translating<Value, Thrown: Error, Reported: Error>(
    _ work: @autoclosure () async throws(Thrown) -> Value, _ report: (Thrown) -> Reported
) async throws(Reported) -> Value {
    do throws(Thrown) { return try await work() } catch { throw report(error) }
}
