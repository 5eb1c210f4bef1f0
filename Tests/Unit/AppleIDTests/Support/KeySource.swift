import Accounts
import AppleID
import IndependentSigning
import Synchronization

/// What a key set is fetched from.
protocol KeySetSource: Sendable {
    func fetch() async throws(Failure) -> [UInt8]
}

/// A key endpoint with a gate: closed, a fetch waits until it opens or is cancelled.
final class KeySource: KeySetSource {
    private struct State {
        var answer: Result<[UInt8], Failure>
        var fetches = 0
        var isOpen = true
        var tickets = 0
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    private let state: Mutex<State>

    init(_ bytes: [UInt8]) { state = Mutex(State(answer: .success(bytes))) }
    init(failing text: String) { state = Mutex(State(answer: .failure(.withoutKeys(text)))) }

    var answer: Result<[UInt8], Failure> {
        get { state.withLock { $0.answer } }
        set { state.withLock { $0.answer = newValue } }
    }
    var fetches: Int { state.withLock { $0.fetches } }
    var waiting: Int { state.withLock { $0.waiting.count } }

    func closeGate() { state.withLock { $0.isOpen = false } }

    func openGate() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        for continuation in waiting { continuation.resume() }
    }

    func fetch() async throws(Failure) -> [UInt8] {
        let ticket = state.withLock { state in
            state.fetches += 1
            state.tickets += 1
            return state.tickets
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let passes = state.withLock { state in
                    if state.isOpen || Task.isCancelled { return true }
                    state.waiting[ticket] = continuation
                    return false
                }
                if passes { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: ticket) }?.resume()
        }
        if Task.isCancelled { throw .withoutKeys("cancelled") }
        return try answer.get()
    }
}

/// Tests of Apple's key set, by a clock that they move.
protocol KeySetTesting {
    var clock: TestClock { get }
}

extension KeySetTesting {
    var first: String { IndependentSigner.firstKey }
    var second: String { IndependentSigner.secondKey }

    /// - Parameter pause: nil moves the clock instead of waiting.
    func keySet(
        _ source: any KeySetSource, archive: MemoryArchive = MemoryArchive(), pause: KeySetPause? = nil
    ) -> AppleKeySet {
        AppleKeySet(
            archive: archive, runtime: testRuntime(clock),
            pause: pause ?? { [clock] milliseconds in
                clock.advance(milliseconds: milliseconds)
                return true
            }, fetch: source.fetch)
    }

    /// A source that publishes the first key, and the set that fetches from it.
    func firstPublished() throws -> (KeySource, AppleKeySet) {
        let source = KeySource(try published(first))
        return (source, keySet(source))
    }

    func published(_ kids: String...) throws -> [UInt8] {
        Array(try IndependentSigner.shared.keySet(kids).utf8)
    }
}
