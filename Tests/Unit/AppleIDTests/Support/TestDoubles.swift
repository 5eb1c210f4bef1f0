import AppleID
import Coding
import Crypto
import HTTP
import HTTPTypes
import LogRecording
import Logging
import Storage
import Synchronization

@testable import Accounts

/// A wall clock that a test sets. It begins at 2026-01-02T03:04:05Z.
final class TestClock: WallClock {
    static let start = Timestamp(seconds: 1_767_323_045)
    private let current = Mutex(TestClock.start)

    func now() -> Timestamp { current.withLock { $0 } }
    func advance(seconds: Int64) { current.withLock { $0 = $0.adding(seconds: seconds) } }
    func advance(milliseconds: Int64) { current.withLock { $0 = $0.adding(milliseconds: milliseconds) } }
}

/// The network, scripted: an answer per target, every request kept.
final class ScriptedTransport: HTTPTransport {
    typealias Answer = Result<ClientResponse, HTTPClientError>

    private struct State {
        var answers: [String: Answer] = [:]
        var turns: [String: Int] = [:]
        var requests: [ClientRequest] = []
    }

    private let state = Mutex(State())

    func answer(_ target: String, with answer: Answer) {
        state.withLock { $0.answers[target] = answer }
    }

    /// How often a request to this target yields before it answers: one is slower than another without a clock.
    func delay(_ target: String, turns: Int) {
        state.withLock { $0.turns[target] = turns }
    }

    func answer(
        _ target: String, status: Int = 200, type: String? = "application/json;charset=ISO-8859-1", _ body: String
    ) {
        var response = ClientResponse(status: .init(code: status), body: Array(body.utf8))
        response.fields[.contentType] = type
        answer(target, with: .success(response))
    }

    func send(_ request: ClientRequest) async throws(HTTPClientError) -> ClientResponse {
        let target = request.url.target
        let (answer, turns) = state.withLock { state in
            state.requests.append(request)
            let nothing = Answer.failure(.connect("nothing scripted for \(target)"))
            return (state.answers[target] ?? nothing, state.turns[target] ?? 1)
        }
        // Like a real exchange, it takes its turns and ends when its task is cancelled.
        for _ in 0..<turns { await Task.yield() }
        if Task.isCancelled { throw .closed }
        return try answer.get()
    }

    func requests(to target: String) -> [ClientRequest] {
        state.withLock { $0.requests.filter { $0.url.target == target } }
    }
}

/// An archive in memory.
final class MemoryArchive: KeySetArchive {
    private let state: Mutex<StoredKeySet?>

    init(_ kept: StoredKeySet? = nil) { state = Mutex(kept) }

    var kept: StoredKeySet? { state.withLock { $0 } }
    func loadKeySet() async -> StoredKeySet? { kept }
    func saveKeySet(_ keySet: StoredKeySet) async { state.withLock { $0 = keySet } }
}

func testRuntime(_ clock: TestClock, _ logger: Logger = .silent) -> Runtime {
    Runtime(clock: clock, random: SystemRandom(), logger: logger)
}
