import Coding
package import Crypto
import Logging
package import Storage
import Synchronization

/// Asks Apple once a day for each credential whether the person's consent is still valid, to find revocations whose
/// notification never arrived.
///
/// A credential is marked in the store before Apple is asked, so a process that is killed in between has used up the day's
/// check; the next one is a day later. When Apple is unreachable, nothing changes.
package final class CredentialChecks: Sendable {
    private struct State {
        var pace: CheckPace
        var inFlight = 0
        /// The gate that was logged last.
        var gate = CheckGate()
    }

    /// The most checks per second: one and a half times what a million credentials need, to catch up after an outage.
    package static let standardRate = 20
    /// For how many seconds a killed process blocks checks. Marks prevent double checks; the lease limits the rate.
    static let leaseTime: Int64 = 5

    private let database: Database
    private let provider: any IdentityProvider
    private let scope: CheckScope
    private let keyring: SealingKeyring
    private let concurrency: Int
    private let schedule: CheckSchedule
    private let runtime: Runtime
    private let lease: LeaseHold
    private let rest = StoreRest()
    /// Milliseconds: a mistake that affects every credential is logged once per reason and hour.
    private let complaints = LogThrottle(interval: 3_600_000)
    private let state: Mutex<State>

    /// At most `rate` checks per second, and `concurrency` in flight.
    package init(
        database: Database, provider: any IdentityProvider, keyring: SealingKeyring, rate: Int, concurrency: Int = 16,
        runtime: Runtime
    ) {
        self.database = database
        self.provider = provider
        scope = CheckScope(team: provider.team, clients: [provider.servicesID] + provider.bundleIDs)
        self.keyring = keyring
        self.concurrency = max(1, concurrency)
        self.schedule = CheckSchedule(random: runtime.random)
        self.runtime = runtime
        lease = LeaseHold(.credentialChecks, in: database, seconds: Self.leaseTime, random: runtime.random)
        state = Mutex(State(pace: CheckPace(rate: rate)))
    }

    private var clock: any WallClock { runtime.clock }
    private var logger: Logger { runtime.logger }

    /// Runs checks until `pause`, which waits a quarter of a second, returns false; those in flight are answered first.
    package func run(pause: @escaping @Sendable () async -> Bool) async {
        await lease.work(pause: pause, round: { (await round(), false) }, each: make)
    }

    /// A check that may be made now: marked in the store, and not yet sent to Apple.
    package typealias BegunCheck = (due: DueCheck, spell: Int)

    /// One round: returns the checks that may be made now. Each of them must be made.
    package func round() async -> [BegunCheck] {
        let now = clock.now()
        guard rest.isOver(at: now) else { return [] }
        let room = state.withLock { state -> Int in
            let room = state.pace.room(capacity: concurrency, inFlight: state.inFlight, at: now)
            return min(room, state.pace.available(at: now))
        }
        guard room > 0 else { return [] }
        do throws(Failure) {
            let work = try await database.checkWork(scope, at: now)
            announce(work.gate)
            guard work.hasDue else {
                if state.withLock({ $0.inFlight == 0 }) { await lease.release() }
                _ = rest.end()
                return []
            }
            guard try await lease.acquire(at: now) else { return [] }
            let due = try await database.beginChecks(scope, limit: room, schedule: schedule, at: now)
            _ = rest.end()
            return state.withLock { state in
                state.inFlight += due.count
                state.pace.spend(due.count)
                return due.map { (due: $0, spell: state.pace.spell) }
            }
        } catch {
            failed(error)
            return []
        }
    }

    /// Asks Apple, and records the answer.
    package func make(_ check: BegunCheck) async {
        defer { state.withLock { $0.inFlight -= 1 } }
        guard let token = open(check.due) else {
            return complain("unreadable", "no sealing key opens the token", check.due, level: .error)
        }
        let answer: CheckAnswer
        do throws(TokenFailure) {
            try await provider.check(token, subject: check.due.subject, clientID: check.due.clientID)
            answer = .alive
        } catch {
            guard let failure = self.answer(to: error, of: check) else { return }
            answer = failure
        }
        await record(answer, of: check)
    }

    /// Nil when nothing changes and the credential is checked again in a day.
    private func answer(to failure: TokenFailure, of check: BegunCheck) -> CheckAnswer? {
        let now = clock.now()
        switch failure {
        case .dead: return .dead
        case .mismatch, .unverified:
            state.withLock { $0.pace.answered(spell: check.spell) }
            complain(failure.reason, failure.detail, check.due, level: .error)
            return nil
        case .clientRefused(let detail):
            return .clientRefused(detail: detail, retryAt: schedule.retry(failures: check.due.failures, at: now))
        case .unavailable(_, let mayHaveActed, let isThrottled, let retryAfter):
            state.withLock {
                $0.pace.failed(spell: check.spell, isThrottled: isThrottled, retryAfter: retryAfter, at: now)
            }
            complain(failure.reason, failure.detail, check.due, level: .warning)
            return mayHaveActed ? nil : .notMade(retryAt: schedule.retry(failures: check.due.failures, at: now))
        }
    }

    private func record(_ answer: CheckAnswer, of check: BegunCheck) async {
        switch answer {
        case .alive, .dead, .clientRefused: state.withLock { $0.pace.answered(spell: check.spell) }
        case .notMade: break
        }
        do throws(Failure) {
            let outcome = try await database.recordCheck(answer, of: check.due, at: clock.now())
            if case .died(let user, let sessions) = outcome {
                logger.info(
                    "credential revoked at Apple",
                    metadata: [
                        "user": "\(user.rawValue)", "client": "\(check.due.clientID.rawValue)",
                        "sessions": .stringConvertible(sessions),
                    ])
            }
        } catch {
            failed(error)
        }
    }

    private func open(_ check: DueCheck) -> RefreshToken? {
        let context = RefreshToken.sealingContext(team: scope.team, subject: check.subject, clientID: check.clientID)
        return (try? keyring.open(check.sealedRefreshToken, purpose: .refreshToken, context: context))
            .flatMap { RefreshToken(opened: $0) }
    }

    // MARK: The log

    /// Logs once when checks stop or resume, and when a process starts while they are stopped.
    private func announce(_ gate: CheckGate) {
        let known = state.withLock { state in
            defer { state.gate = gate }
            return state.gate
        }
        guard gate != known else { return }
        if let brake = gate.brake, known.brake == nil {
            logger.error(
                "daily checks stopped: too many credentials revoked at once",
                metadata: [
                    "reason": "brake", "dead": .stringConvertible(brake.dead),
                    "checks": .stringConvertible(brake.checks),
                ])
        } else if gate.brake == nil, known.brake != nil {
            logger.info("daily checks resumed", metadata: ["reason": "brake"])
        }
        for pause in gate.pauses {
            // Each refusal is logged: there are few, and meanwhile nothing is checked.
            if known.pauses.contains(where: { $0.clientID == pause.clientID && $0.attempts == pause.attempts }) {
                continue
            }
            logger.error(
                "daily checks paused: Apple rejected our client credentials",
                metadata: [
                    "reason": "client_refused", "client": "\(pause.clientID.rawValue)", "detail": "\(pause.detail)",
                    "attempts": .stringConvertible(pause.attempts),
                ])
        }
        for pause in known.pauses where !gate.pauses.contains(where: { $0.clientID == pause.clientID }) {
            logger.info(
                "daily checks resumed", metadata: ["reason": "client_refused", "client": "\(pause.clientID.rawValue)"])
        }
    }

    private func complain(_ reason: String, _ detail: String, _ check: DueCheck, level: Logger.Level) {
        guard let count = complaints.count(reason, at: clock.now().milliseconds) else { return }
        logger.log(
            level: level, "credential check failed",
            metadata: [
                "reason": "\(reason)", "detail": "\(detail)", "client": "\(check.clientID.rawValue)",
                "count": .stringConvertible(count),
            ])
    }

    private func failed(_ error: Failure) {
        if rest.begin(at: clock.now()) {
            logger.error("daily checks paused: database error", metadata: ["cause": "\(error)"])
        }
    }
}
