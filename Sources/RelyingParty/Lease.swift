package import Coding
import Crypto
import Synchronization

/// Work that one process does for all that share a database.
package enum LeasedJob: String, Sendable, CaseIterable {
    /// Telling Apple of deleted accounts.
    case revocations
    /// Delivering events to applications.
    case webhooks
    /// Asking Apple whether credentials still stand.
    case credentialChecks
    /// Asking the application to drop passwords.
    case conversions
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

/// One process's hold on a job that it does again and again: asks the store only when the lease must be prolonged.
final class LeaseHold: Sendable {
    private let job: LeasedJob
    private let leases: any LeaseStore
    private let seconds: Int64
    private let holder: String
    private let end = Mutex<Timestamp?>(nil)

    /// - Parameter seconds: how long others keep away when this process is killed.
    init(_ job: LeasedJob, in leases: any LeaseStore, seconds: Int64, random: any RandomSource) {
        self.job = job
        self.leases = leases
        self.seconds = seconds
        holder = Hexadecimal.encode(random.bytes(16))
    }

    /// Takes the lease or prolongs it; false when another process has it.
    func take(at now: Timestamp) async throws(StoreError) -> Bool {
        let length = seconds * 1_000
        // Prolonged when a third of it is gone, or when the clock was set back.
        if let end = end.withLock({ $0 }) {
            let rest = end.milliseconds - now.milliseconds
            if rest > length * 2 / 3, rest <= length { return true }
        }
        let isOurs = try await leases.holdLease(job, holder: holder, seconds: seconds, at: now)
        end.withLock { $0 = isOurs ? now.adding(milliseconds: length) : nil }
        return isOurs
    }

    /// Whether it was taken and has not ended since.
    func isHeld(at now: Timestamp) -> Bool {
        end.withLock { end in end.map { now < $0 } ?? false }
    }

    /// Lets others have it, if this process had it.
    func release() async {
        let had = end.withLock { end in
            defer { end = nil }
            return end != nil
        }
        guard had else { return }
        // Failing that, it ends by itself.
        try? await leases.releaseLease(job, holder: holder)
    }
}
