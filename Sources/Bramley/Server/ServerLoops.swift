internal import Coding
internal import HTTP
internal import HTTPTypes
internal import Sockets
internal import Storage
internal import Web

// What each loop serves.
extension ServerParts {
    /// Called on the loop it is for.
    func makeVisitorLoop(_ loop: EventLoop) throws -> HTTPLoop {
        let web = configuration.web
        let fastPath = try VerifyFastPath(
            configuration: web, directory: database, rules: reload.rules,
            issuer: assertions, memory: web.sessionCacheMemory / group.loops.count)
        return HTTPLoop(
            loop: loop, configuration: visitorSettings, handler: application,
            immediate: VerifyResponder(
                fastPath, trustedProxies: visitorSettings.trustedProxies, on: loop,
                metrics: application.metrics.makeImmediate("/auth/verify"),
                log: AccessLog(web.accessLog, logger: runtime.logger)),
            wallClock: wallClock, logger: runtime.logger, metrics: application.metrics)
    }

    func makeRedirectLoop(_ loop: EventLoop) -> HTTPLoop {
        HTTPLoop(
            loop: loop, configuration: redirectSettings,
            handler: RedirectHandler(origin: configuration.web.publicURL.origin), wallClock: wallClock,
            logger: runtime.logger)
    }

    func makeAdminLoop(_ loop: EventLoop) -> HTTPLoop {
        HTTPLoop(
            loop: loop, configuration: HTTPServerConfiguration { $0.memory = MemoryBudget(bytes: 1 << 20) },
            handler: admin, wallClock: wallClock, logger: runtime.logger)
    }

    private var wallClock: @Sendable () -> Int64 { { [clock = runtime.clock] in clock.now().milliseconds } }
}

final class VerifyResponder: ImmediateResponder {
    private let fastPath: VerifyFastPath
    private let trustedProxies: TrustedProxies
    private let loop: EventLoop
    private let metrics: ImmediateMetrics
    /// Nil when such frequent answers are not logged.
    private let log: AccessLog?

    init(
        _ fastPath: VerifyFastPath, trustedProxies: TrustedProxies, on loop: EventLoop, metrics: ImmediateMetrics,
        log: AccessLog
    ) {
        self.fastPath = fastPath
        self.trustedProxies = trustedProxies
        self.loop = loop
        self.metrics = metrics
        self.log = log.hasFrequentLines ? log : nil
    }

    func respond(
        to head: borrowing RequestHead, in bytes: Span<UInt8>, peer: IPAddress, now: Int64, date: [UInt8],
        into output: inout [UInt8]
    ) -> Bool {
        let isAnswered = fastPath.answer(
            head: head, bytes: bytes, peerIsTrusted: trustedProxies.contains(peer.normalized),
            now: Timestamp(milliseconds: now), date: date, into: &output)
        guard isAnswered else { return false }
        metrics.count(since: loop.now)
        if let log { log.recordFastAnswer(client: log.clients.text(of: peer.normalized)) }
        return true
    }
}

/// The plain port: redirects to the same path with TLS, on publicURL's host, whatever host the request names: by 301
/// for GET and HEAD, which every client knows, else by 308, which keeps the method (RFC 9110 §15.4.9). No
/// Strict-Transport-Security: it would have no effect here (RFC 6797 §7.2).
struct RedirectHandler: RequestHandler {
    /// `https://id.example.com`, with the port if it is not 443.
    let origin: String

    /// Also of the answers that the server sends by itself.
    static let fields: HTTPFields = [
        .contentSecurityPolicy: "default-src 'none'; frame-ancestors 'none'", .xContentTypeOptions: "nosniff",
    ]

    func respond(to request: ServerRequest) async -> ServerResponse {
        // An OPTIONS for the whole server has no path to keep (RFC 9110 §7.1).
        let target = request.head.path.flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/"
        var fields = Self.fields
        fields[.location] = origin + target
        // Cached for an hour, so that a change of publicURL takes effect soon.
        fields[.cacheControl] = "max-age=3600"
        fields[.contentType] = "text/plain; charset=utf-8"
        let isRead = request.method == .get || request.method == .head
        return ServerResponse(
            status: isRead ? .movedPermanently : .permanentRedirect, fields: fields,
            body: .bytes(Array("This is at \(origin)\n".utf8)))
    }
}
