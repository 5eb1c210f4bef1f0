import Accounts
import Coding
import HTTP
import HTTPTypes

/// What all requests to Apple have in common, and how an answer is examined before it is parsed.
struct AppleEndpointClient: Sendable {
    /// From the call to the last byte, in milliseconds.
    static let timeout: Int64 = 10_000
    /// In bytes.
    static let maximumBodySize = 1_048_576

    let transport: any HTTPTransport
    let endpoint: AppleEndpoint
    let userAgent: String
    /// Sent with every request as a Bearer token (RFC 6750 §2.1).
    var accessToken: String?
    /// Nil where nothing is measured.
    var metrics: AppleCallMetrics?
    /// Only for metrics: compares Apple's clock with ours.
    var clock: (any WallClock)?

    func get(_ path: String) async throws(HTTPClientError) -> ClientResponse {
        try await send(request(.get, path), path)
    }

    func post(_ path: String, form: [UInt8]) async throws(HTTPClientError) -> ClientResponse {
        var request = request(.post, path)
        request.fields[.contentType] = "application/x-www-form-urlencoded"
        request.body = form
        return try await send(request, path)
    }

    func keySet() async throws(Failure) -> [UInt8] {
        try await translating(await get("/auth/keys")) { (error: HTTPClientError) in
            Failure.withoutKeys("key endpoint: \(error)")
        }.keySet()
    }

    private func send(_ request: ClientRequest, _ path: String) async throws(HTTPClientError) -> ClientResponse {
        guard let metrics else { return try await transport.send(request) }
        let (endpoint, start) = (AppleCallMetrics.Endpoint(path: path), ContinuousClock.now)
        let asked = clock?.now()
        do throws(HTTPClientError) {
            let response = try await transport.send(request)
            metrics.count(endpoint, AppleCallMetrics.Outcome(response), since: start)
            if let asked, let answered = clock?.now(),
                let offset = ClockOffset(date: response.fields[.date], asked: asked, answered: answered)
            {
                metrics.record(offset)
            }
            return response
        } catch {
            metrics.count(endpoint, AppleCallMetrics.Outcome(error), since: start)
            throw error
        }
    }

    private func request(_ method: HTTPRequest.Method, _ path: String) -> ClientRequest {
        var fields = HTTPFields()
        fields[.accept] = "application/json"
        fields[.userAgent] = userAgent
        if let accessToken { fields[.authorization] = "Bearer " + accessToken }
        return ClientRequest(
            method: method, url: endpoint.url(path), fields: fields, timeout: Self.timeout,
            maximumBodySize: Self.maximumBodySize)
    }
}

extension ClientResponse {
    func keySet() throws(Failure) -> [UInt8] {
        guard status.code == 200 else { throw .withoutKeys("key endpoint: status \(status.code)") }
        guard looksLikeJSONObject else { throw .withoutKeys("key endpoint: content is not JSON") }
        return body
    }

    /// Whether the content may be parsed as JSON: within its limit, not declared as anything else, and beginning like
    /// an object. Apple's edge has answered HTML with status 200.
    var looksLikeJSONObject: Bool {
        guard body.count <= AppleEndpointClient.maximumBodySize else { return false }
        if fields.contains(.contentType) {
            guard let essence = MediaType.essence(of: fields),
                essence.isExactly("application/json") || essence.isExactly("application/jwk-set+json")
            else { return false }
        }
        let first = body.first { $0 != 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }
        return first == UInt8(ascii: "{")
    }
}
