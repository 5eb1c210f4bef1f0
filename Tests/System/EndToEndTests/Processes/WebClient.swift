import Coding
import HTTP
import HTTPTypes
import Sockets

private let places = Turnstile(3)

/// Runs loops for the time of `body`, which does not run on them.
/// - Parameters:
///   - isInner: within another one's body, whose place it shares.
///   - server: what a loop does with a connection.
func withLoops<Value: Sendable>(
    _ count: Int = 1, isInner: Bool = false,
    servingWith server: @escaping @Sendable (EventLoop) -> @Sendable (SocketStream) async -> Void = { _ in
        { $0.close() }
    },
    _ body: (EventLoopGroup) async throws -> Value
) async throws -> Value {
    if !isInner { await places.enter() }
    defer { if !isInner { places.leave() } }
    return try await withTaskExecutorPreference(ThreadPerJob.shared) {
        let group = try EventLoopGroup(count: count)
        async let running: Void = group.run { loop in await loop.runRoot(server(loop)) }
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
