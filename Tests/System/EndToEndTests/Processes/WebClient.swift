import Coding
import HTTP
import HTTPTypes
import Sockets
import Synchronization

/// Tests run beside each other; programs that start and make keys all at once would only wait for the same cores.
private let places = ProcessLimit(3)

/// Lets so many in at once.
private final class ProcessLimit: Sendable {
    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(_ count: Int) {
        state = Mutex(State(free: count))
    }

    func enter() async {
        await withCheckedContinuation { continuation in
            let mayEnter = state.withLock { state in
                guard state.free == 0 else {
                    state.free -= 1
                    return true
                }
                state.waiting.append(continuation)
                return false
            }
            if mayEnter { continuation.resume() }
        }
    }

    func leave() {
        let next: CheckedContinuation<Void, Never>? = state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.free += 1
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}

/// Runs loops for the time of `body`, which does not run on them.
/// - Parameter isInner: within another one's body, whose place it shares.
func withLoops<Value: Sendable>(
    _ count: Int = 1, isInner: Bool = false,
    serving serve: @escaping @Sendable (SocketStream) async -> Void = { $0.close() },
    starting start: @escaping @Sendable (EventLoop) throws -> Void = { _ in },
    _ body: (EventLoopGroup) async throws -> Value
) async throws -> Value {
    if !isInner { await places.enter() }
    defer { if !isInner { places.leave() } }
    return try await withTaskExecutorPreference(ThreadPerJob.shared) {
        let group = try EventLoopGroup(count: count)
        async let running: Void = group.run { loop in
            do { try start(loop) } catch { group.beginDrain() }
            await loop.runRoot(serve)
        }
        let result: Result<Value, any Error>
        do {
            result = .success(try await body(group))
        } catch {
            result = .failure(error)
        }
        group.beginDrain()
        group.abort()
        try await running
        return try result.get()
    }
}

/// One origin, asked with plain requests. Every answer it returns came whole.
struct WebClient: Sendable {
    let origin: String
    private let client: HTTPClient

    /// Shares no kept connection with other clients of the same loops.
    init(_ origin: String, on group: EventLoopGroup) throws {
        self.origin = origin
        client = HTTPClient(group: group, tls: try TLSContext.client(), userAgent: "EndToEndTests/1.0")
    }

    func get(_ path: String, _ fields: HTTPFields = HTTPFields(), timeout: Int64 = 30_000) async throws
        -> ClientResponse
    {
        try await send(.get, path, fields, timeout: timeout)
    }

    func send(
        _ method: HTTPRequest.Method, _ path: String, _ fields: HTTPFields = HTTPFields(), body: String = "",
        timeout: Int64 = 30_000
    ) async throws -> ClientResponse {
        guard let url = ClientURL(origin + path) else { throw HTTPClientError.malformed(origin + path) }
        return try await client.send(
            ClientRequest(
                method: method, url: url, fields: fields, body: Array(body.utf8), timeout: timeout * Int64(patience),
                maximumBodySize: 16_777_216))
    }
}

extension ClientResponse {
    var text: String { String(decoding: body, as: UTF8.self) }

    var json: JSONObject {
        get throws {
            guard let object = try JSONReader.parse(body, limits: JSONLimits(maximumBytes: 16_777_216)).objectValue
            else {
                throw HTTPClientError.malformed("no JSON object")
            }
            return object
        }
    }

    /// The value of a cookie this answer sets; nil when it sets none of that name, or an empty one.
    func cookie(_ name: String) -> String? {
        for field in fields[values: .setCookie] where field.hasPrefix(name + "=") {
            let value = field.dropFirst(name.utf8.count + 1).prefix { $0 != ";" }
            return value.isEmpty ? nil : String(value)
        }
        return nil
    }
}

extension HTTPField.Name {
    /// Both names are tokens, so there is nothing to fail.
    static let secFetchSiteField = HTTPField.Name("Sec-Fetch-Site") ?? .origin
    static let forwardedForField = HTTPField.Name("X-Forwarded-For") ?? .origin
}
