package import Coding

/// Whose credentials are checked: those of our team, of the clients that are configured.
package struct CheckScope: Hashable, Sendable {
    package var team: TeamID
    package var clients: [ClientID]

    package init(team: TeamID, clients: [ClientID]) {
        self.team = team
        self.clients = clients
    }
}

/// One credential that Apple is about to be asked about; marked so in the store.
package struct DueCheck: Hashable, Sendable {
    package var team: TeamID
    package var subject: AppleSubject
    package var clientID: ClientID
    /// `iat` of the sign-in that brought the token, Apple's clock.
    package var issuedAt: Timestamp
    package var sealedRefreshToken: [UInt8]
    /// The mark: an answer counts while it still stands on the credential. A sign-in, which brings another token, takes it
    /// away, and so does the next check.
    package var askedAt: Timestamp
    /// Attempts before this one, in a row, that Apple certainly made no check of.
    package var failures: Int

    package init(
        team: TeamID, subject: AppleSubject, clientID: ClientID, issuedAt: Timestamp, sealedRefreshToken: [UInt8],
        askedAt: Timestamp, failures: Int
    ) {
        self.team = team
        self.subject = subject
        self.clientID = clientID
        self.issuedAt = issuedAt
        self.sealedRefreshToken = sealedRefreshToken
        self.askedAt = askedAt
        self.failures = failures
    }
}

/// What came of a check.
package enum CheckAnswer: Hashable, Sendable {
    case alive
    case dead
    /// Apple certainly made no check; another attempt at that time.
    case notMade(retryAt: Timestamp)
    /// Apple refused us as this client, and made no check either.
    case clientRefused(detail: String, retryAt: Timestamp)
}

/// What an answer changed.
package enum CheckOutcome: Hashable, Sendable {
    case noted
    /// The credential is another one by now, or gone: the answer is about nothing any more.
    case superseded
    /// The credential is dead; this many sessions ended with it.
    case died(UserID, sessions: Int)
    /// A dead answer that was not applied: the brake is on, or Apple refuses us.
    case heldBack
}

/// Why no checks are made, or fewer.
package struct CheckGate: Hashable, Sendable {
    /// A wave stopped all of them, until the operator decides.
    package struct Brake: Hashable, Sendable {
        package var since: Timestamp
        /// The hour's dead answers and all its answers, when it came on.
        package var dead: Int
        package var checks: Int

        package init(since: Timestamp, dead: Int, checks: Int) {
            self.since = since
            self.dead = dead
            self.checks = checks
        }
    }

    /// Apple refuses us as one client: its credentials wait.
    package struct Pause: Hashable, Sendable {
        package var clientID: ClientID
        package var since: Timestamp
        package var nextTryAt: Timestamp
        /// Refusals so far.
        package var attempts: Int
        /// What Apple said; cleaned, for the operator.
        package var detail: String

        package init(clientID: ClientID, since: Timestamp, nextTryAt: Timestamp, attempts: Int, detail: String) {
            self.clientID = clientID
            self.since = since
            self.nextTryAt = nextTryAt
            self.attempts = attempts
            self.detail = detail
        }
    }

    package var brake: Brake?
    /// By client ID.
    package var pauses: [Pause]

    package init(brake: Brake? = nil, pauses: [Pause] = []) {
        self.brake = brake
        self.pauses = pauses
    }
}

/// What one look at the store finds.
package struct CheckWork: Hashable, Sendable {
    /// There is something to plan or to ask.
    package var hasDue: Bool
    package var gate: CheckGate

    package init(hasDue: Bool, gate: CheckGate) {
        self.hasDue = hasDue
        self.gate = gate
    }
}

/// The daily checks as the operator sees them.
package struct CheckStatus: Hashable, Sendable {
    /// Credentials with a refresh token.
    package var live: Int
    /// Those whose check is due, and since when the first one is.
    package var due: Int
    package var dueSince: Timestamp?
    /// Of the last hour's answers.
    package var alive: Int
    package var dead: Int
    /// Dead answers that were not applied.
    package var heldBack: Int
    package var gate: CheckGate
    /// Until then nothing is held back: the operator said that the wave is real.
    package var acceptsUntil: Timestamp?

    package init(
        live: Int, due: Int, dueSince: Timestamp?, alive: Int, dead: Int, heldBack: Int, gate: CheckGate,
        acceptsUntil: Timestamp?
    ) {
        self.live = live
        self.due = due
        self.dueSince = dueSince
        self.alive = alive
        self.dead = dead
        self.heldBack = heldBack
        self.gate = gate
        self.acceptsUntil = acceptsUntil
    }
}

/// What `resumeChecks` did.
package struct CheckResumption: Hashable, Sendable {
    /// What stood in the way.
    package var gate: CheckGate
    /// Held-back answers that were applied, and the sessions that ended with them.
    package var died: Int
    package var sessions: Int
    /// Held-back answers that were forgotten: asked again when their day is over.
    package var forgotten: Int

    package init(gate: CheckGate, died: Int, sessions: Int, forgotten: Int) {
        self.gate = gate
        self.died = died
        self.sessions = sessions
        self.forgotten = forgotten
    }
}

/// The credentials as the daily checks need them.
package protocol CredentialCheckStore: Sendable {
    /// Reads only; by index.
    func checkWork(_ scope: CheckScope, at now: Timestamp) async throws(StoreError) -> CheckWork

    /// Plans what has no plan yet, and takes at most `limit` credentials that are due, the longest waiting first. Each is
    /// marked as asked about before this returns, and is not due again for a day: what happens to the process afterwards,
    /// Apple is asked once at most. Nothing is taken while the brake is on; of a client that Apple refuses, one when its
    /// next attempt is due.
    func beginChecks(
        _ scope: CheckScope, limit: Int, schedule: CheckSchedule, at now: Timestamp
    ) async throws(StoreError) -> [DueCheck]

    /// Takes an answer, unless it is about a credential that is no more. A dead answer that makes a wave puts the brake on
    /// and is held back like all after it.
    func recordCheck(
        _ answer: CheckAnswer, of check: DueCheck, at now: Timestamp
    ) async throws(StoreError) -> CheckOutcome
}
