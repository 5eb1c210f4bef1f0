extension Result {
    /// What `body` returns or throws, for a place that no typed error passes: a task, a task local's scope.
    @inlinable
    package init(_ body: () async throws(Failure) -> Success) async {
        do throws(Failure) { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
