package import Coding

/// Work that one process does for all that share a database.
package enum LeasedJob: String, Sendable, CaseIterable {
    /// Telling Apple of deleted accounts.
    case revocations
    /// Delivering events to applications.
    case webhooks
    /// Asking Apple whether credentials still stand.
    case credentialChecks
}

/// Who does a job, among overlapping processes: one holder at a time, until its lease ends.
package protocol LeaseStore: Sendable {
    /// Takes the lease when it is free or has ended, and prolongs it for who holds it already.
    /// - Parameters:
    ///   - holder: names one process; random.
    ///   - seconds: how long it is held unless prolonged. Longer than any one step of the job may take.
    /// - Returns: whether `holder` has it now.
    func holdLease(
        _ job: LeasedJob, holder: String, seconds: Int64, at now: Timestamp
    ) async throws(StoreError) -> Bool
    /// Gives the lease back early, so that another process need not wait. Nothing happens when it is another's.
    func releaseLease(_ job: LeasedJob, holder: String) async throws(StoreError)
}
