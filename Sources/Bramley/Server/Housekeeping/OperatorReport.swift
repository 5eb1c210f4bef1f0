internal import Accounts
internal import Coding
internal import Crypto
internal import FoundationEssentials
internal import Logging
internal import Sockets
import Storage
internal import Synchronization

/// What the operator's page shows of this server, as sums written once a minute: a visitor's request writes nothing.
final class OperatorReport: Sendable {
    private let database: Database
    private let counters: CounterGrid<SignInFlow, SignInEnd>
    private let runtime: Runtime
    private let id: String
    private let startedAt: Timestamp
    private let written = Mutex<[SignInEnd: Int]>([:])

    init(_ base: ServerBase, counters: CounterGrid<SignInFlow, SignInEnd>) {
        database = base.database
        self.counters = counters
        runtime = base.runtime
        id = Hexadecimal.encode(runtime.random.bytes(16))
        startedAt = runtime.clock.now()
    }

    /// Reports at once, each minute, and when the loop drains: then `isLast`, and this server runs no more.
    func write(isLast: Bool = false) async {
        do throws(Failure) {
            try await report()
            if isLast { try await database.forgetServer(id, at: runtime.clock.now()) }
        } catch {
            runtime.logger.warning("numbers for the operator's page not written", metadata: ["cause": "\(error)"])
        }
    }

    func report() async throws(Failure) {
        let now = runtime.clock.now()
        try await database.reportServer(
            RunningServer(
                id: id, host: ProcessInfo.processInfo.hostName, version: Build.version, startedAt: startedAt,
                seenAt: now))
        let new = unwritten()
        guard !new.isEmpty else { return }
        do {
            try await database.addSignIns(
                new.map {
                    SignInCount(hour: now.hour, outcome: $0.key.outcome, reason: $0.key.reason, number: $0.value)
                }, at: now)
        } catch {
            // The next report has them.
            written.withLock { written in for (end, number) in new { written[end, default: 0] -= number } }
            throw error
        }
    }

    private func unwritten() -> [SignInEnd: Int] {
        written.withLock { written in
            var new: [SignInEnd: Int] = [:]
            for end in SignInEnd.allCases {
                let total = SignInFlow.allCases.reduce(0) { $0 + counters[$1, end] }
                let number = total - (written[end] ?? 0)
                if number > 0 {
                    new[end] = number
                    written[end] = total
                }
            }
            return new
        }
    }
}
