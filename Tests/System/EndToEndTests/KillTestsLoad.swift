import HTTP
import HTTPTypes
import Randomness
import Synchronization

/// The answers that browsers received before the kill.
final class KillLedger: Sendable {
    /// How a session ended, as far as its browser knows.
    enum End: Sendable {
        case none
        /// Asked for, and the answer never came: either is right.
        case asked
        case confirmed
    }

    struct Entry: Sendable {
        var person: TestPerson
        var token: String
        var end = End.none
    }

    /// A callback that was posted and not answered.
    struct Unanswered: Sendable {
        var person: TestPerson
        var attempt: RunningServer.Attempt
        var form: RunningSimulator.Form
    }

    private struct State {
        var sessions: [Entry] = []
        var unanswered: [Unanswered] = []
        var isKilled = false
    }

    private let state = Mutex(State())

    var sessions: [Entry] { state.withLock { $0.sessions } }
    var unanswered: [Unanswered] { state.withLock { $0.unanswered } }
    var isKilled: Bool { state.withLock { $0.isKilled } }

    func beginKill() { state.withLock { $0.isKilled = true } }

    func signedIn(_ person: TestPerson, _ token: String) {
        state.withLock { $0.sessions.append(Entry(person: person, token: token)) }
    }

    func setEnd(_ end: End, of token: String) {
        state.withLock { state in
            for index in state.sessions.indices where state.sessions[index].token == token {
                state.sessions[index].end = end
            }
        }
    }

    func notAnswered(_ callback: Unanswered) { state.withLock { $0.unanswered.append(callback) } }
}

/// What a whole run has seen, for its last line.
struct KillTally: CustomStringConvertible {
    var sessions = 0
    var signOuts = 0
    var openSignOuts = 0
    var unanswered = 0
    var exchanged = 0
    var killsWhileStarting = 0

    var description: String {
        """
        \(sessions) sessions kept, \(signOuts) sign-outs kept, \(openSignOuts) sign-outs unanswered, \(unanswered) \
        callbacks unanswered (\(exchanged) after the exchange) with their names kept, \(killsWhileStarting) starts killed
        """
    }
}

/// One browser after the other, signing in and out until the server is gone.
struct KillWorker {
    let server: RunningServer
    let simulator: RunningSimulator
    let ledger: KillLedger
    let name: String
    var random: SeededRandom
    private var count = 0

    init(
        server: RunningServer, simulator: RunningSimulator, ledger: KillLedger, name: String, random: SeededRandom
    ) {
        self.server = server
        self.simulator = simulator
        self.ledger = ledger
        self.name = name
        self.random = random
    }

    /// Ends when the server has been killed; throws when it fails before.
    mutating func run() async throws {
        while !ledger.isKilled {
            do {
                try await visit()
            } catch is HTTPClientError where ledger.isKilled {
                return
            }
        }
    }

    private mutating func visit() async throws {
        count += 1
        let person = TestPerson("\(name)n\(count)")
        let address = "10.\(random.next() % 256).\(random.next() % 256).\(random.next() % 256)"
        try await simulator.add(person)
        guard let token = try await signIn(person, from: address, session: nil) else { return }
        switch random.next() % 10 {
        case 0..<3:
            ledger.setEnd(.asked, of: token)
            try require(303, try await server.signOut(token))
            ledger.setEnd(.confirmed, of: token)
        case 3..<5:
            ledger.setEnd(.asked, of: token)
            try require(204, try await server.deleteSession(token))
            ledger.setEnd(.confirmed, of: token)
        case 5..<7:
            // Signing in again replaces the browser's session, in the same transaction.
            ledger.setEnd(.asked, of: token)
            if try await signIn(person, from: address, session: token) != nil { ledger.setEnd(.confirmed, of: token) }
        default: break
        }
    }

    private func signIn(_ person: TestPerson, from address: String, session: String?) async throws -> String? {
        let attempt = try await server.begin(from: address, session: session)
        let form = try await simulator.authorize(person, at: attempt.location)
        do {
            let response = try await server.callback(attempt, form.body, session: session)
            try require(303, response)
            guard let token = response.cookie(RunningServer.sessionCookie) else {
                throw HTTPClientError.malformed("a sign-in without a cookie")
            }
            ledger.signedIn(person, token)
            return token
        } catch let error as HTTPClientError {
            if case .malformed = error { throw KillTestFailure(description: "\(error)") }
            ledger.notAnswered(KillLedger.Unanswered(person: person, attempt: attempt, form: form))
            throw error
        }
    }

    /// An answer that came must be the good one, killed or not.
    private func require(_ status: Int, _ response: ClientResponse) throws {
        guard response.status.code == status else {
            throw KillTestFailure(
                description: "\(response.status.code) instead of \(status): \(response.text.suffix(400))")
        }
    }
}

struct KillTestFailure: Error, CustomStringConvertible {
    var description: String
}
