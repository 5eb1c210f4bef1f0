internal import Accounts
internal import Coding
internal import Crypto
internal import HTTP
internal import HTTPTypes
internal import Sockets

/// Webhooks over HTTP: one POST, a status, nothing else of the answer.
struct WebhookTransport: WebhookSender {
    /// From the call to the end of the answer, in milliseconds.
    static let timeout: Int64 = 15_000
    /// The limit of the answer's content; the rest is not read.
    static let maximumBody = 16_384

    let transport: any HTTPTransport
    let clock: any WallClock
    /// Whether this process is ending: requests it then aborts are nobody's failure.
    let isEnding: @Sendable () -> Bool

    init(
        _ configuration: Configuration, _ group: EventLoopGroup, clock: any WallClock,
        isEnding: @escaping @Sendable () -> Bool
    ) throws {
        transport = HTTPClient(
            group: group, tls: try TLSContext.client(), userAgent: "Bramley/\(Build.version)",
            proxy: configuration.outboundProxy)
        self.clock = clock
        self.isEnding = isEnding
    }

    func send(_ request: WebhookRequest) async -> WebhookAnswer {
        guard let url = ClientURL(request.url) else { return .failure("invalid address") }
        var fields: HTTPFields = [.contentType: "application/json"]
        for (name, value) in request.fields {
            guard let name = HTTPField.Name(name) else { continue }
            fields[name] = value
        }
        // Named in `webhooks.url`.
        return await post(request.body, fields, to: url, within: .anywhere)
    }

    func send(logoutToken: Secret, to address: LogoutAddress) async -> WebhookAnswer {
        guard let url = ClientURL(address.uri) else { return .failure("invalid address") }
        // Compact serialization: nothing in it needs escapes.
        return await post(
            Array("logout_token=\(logoutToken.reveal())".utf8), [.contentType: "application/x-www-form-urlencoded"],
            to: url, within: address.isPublicOnly ? .publicOnly : .anywhere)
    }

    private func post(
        _ body: [UInt8], _ fields: HTTPFields, to url: ClientURL, within reach: Reach
    ) async -> WebhookAnswer {
        var post = ClientRequest(
            method: .post, url: url, fields: fields, body: body, timeout: Self.timeout,
            maximumBodySize: Self.maximumBody)
        post.cutsLongBody = true
        post.reach = reach
        do throws(HTTPClientError) {
            let response = try await transport.send(post)
            return .status(
                response.status.code,
                retryAfter: RetryAfter.milliseconds(response.fields[.retryAfter], at: clock.now()))
        } catch {
            return isEnding() ? .abandoned : .failure(error.reason)
        }
    }
}

extension HTTPClientError {
    /// Why an application's endpoint did not answer. Contains nothing of what was sent.
    var reason: String {
        switch self {
        case .unknownHost: "the name does not resolve"
        case .inside: "the address is not public but was registered through the API"
        case .connect: "no connection"
        case .tls(let detail): "TLS: \(detail.prefix(120))"
        case .timeout: "timeout"
        case .closed: "closed before the answer was complete"
        case .malformed(let detail): "not an HTTP answer: \(detail.prefix(120))"
        case .tooLarge: "the answer is too long"
        case .proxy(let failure): "proxy: \(failure)"
        }
    }
}
