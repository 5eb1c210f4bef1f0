import Accounts
import HTTP
import HTTPTypes

/// A dynamic route: how it is found, answered and logged, who may ask, how often, and who reads its failures.
struct RouteEntry: Sendable {
    typealias Handler = @Sendable (ServerRequest, PathParameters) async throws(Failure) -> ServerResponse
    typealias PlainHandler = @Sendable (ServerRequest) async throws(Failure) -> ServerResponse

    /// Who reads a route's failures.
    enum Reader: Sendable {
        case visitor
        /// A problem document (RFC 9457).
        case program
        /// The errors of OAuth (RFC 6749 §5.2).
        case client
        /// A proxy, perhaps for another site's visitor: a page without other files, a problem document or plain text.
        case proxy

        /// The default of a pattern.
        init(ofPattern pattern: String) {
            self = ["/api/", "/.well-known/"].contains(where: pattern.hasPrefix) ? .program : .visitor
        }

        /// For paths without a route. Clients look for `/.well-known/` at the root of the host first.
        init(ofUnroutedPath path: String, _ url: PublicURL) {
            let below = path.hasPrefix("/.well-known/") ? path : url.pathBelow(path) ?? ""
            self.init(ofPattern: below)
        }
    }

    let method: HTTPRequest.Method
    /// Below the base path; also the route's name in logs and metrics.
    let pattern: String
    /// The limit per address; nil where the handler checks its own, or where a request costs nothing.
    private let limit: RateGate?
    /// Bytes of content, beyond which the answer is 413; nil where content is not read.
    private let body: Int?
    private var handler: Handler
    private(set) var reader: Reader
    /// Whose pages may read the answer.
    private(set) var readers = CrossOrigin.Readers.own
    /// Whether its successes are logged at `debug`: they are frequent and tell little.
    private(set) var isFrequent = false

    init(
        _ method: HTTPRequest.Method, _ pattern: String, limit: RateGate? = nil, body: Int? = nil,
        _ handle: @escaping Handler
    ) {
        self.method = method
        self.pattern = pattern
        self.limit = limit
        self.body = body
        handler = handle
        reader = Reader(ofPattern: pattern)
    }

    init(
        _ method: HTTPRequest.Method, _ pattern: String, limit: RateGate? = nil, body: Int? = nil,
        _ handle: @escaping PlainHandler
    ) {
        self.init(method, pattern, limit: limit, body: body) { request, _ throws(Failure) in
            try await handle(request)
        }
    }

    /// A route for applications whose API key has `scope`.
    init(
        _ method: HTTPRequest.Method, _ pattern: String, scope: APIScope, _ gate: BackendGate, query: Bool = false,
        _ handle: @escaping Handler
    ) {
        self.init(method, pattern, scope: scope, gate, query: query) { request, parameters, _ throws(Failure) in
            try await handle(request, parameters)
        }
    }

    /// The same with the key; unless the handler reads a query, any parameter is refused.
    init(
        _ method: HTTPRequest.Method, _ pattern: String, scope: APIScope, _ gate: BackendGate, query: Bool = false,
        _ handle: @escaping BackendGate.KeyHandler
    ) {
        self.init(
            method, pattern,
            gate.requiring(scope) { request, parameters, key throws(Failure) in
                try BodyLimit.require(BodyLimit.api, of: request)
                if !query { _ = try APIQuery(request) }
                return try await handle(request, parameters, key)
            })
    }

    func handle(_ request: ServerRequest, _ parameters: PathParameters) async throws(Failure) -> ServerResponse {
        try limit?.record(request)
        if let body { try BodyLimit.require(body, of: request) }
        return try await handler(request, parameters)
    }

    /// - Parameter readers: whose pages may read its answers.
    func read(by reader: Reader, in readers: CrossOrigin.Readers = .own) -> RouteEntry {
        var entry = self
        (entry.reader, entry.readers) = (reader, readers)
        return entry
    }

    /// The same after `answer`; where that is nil, the handler answers.
    func after(_ answer: @escaping @Sendable (ServerRequest) async throws(Failure) -> ServerResponse?) -> RouteEntry {
        var entry = self
        entry.handler = { [handler] request, parameters throws(Failure) in
            if let answer = try await answer(request) { return answer }
            return try await handler(request, parameters)
        }
        return entry
    }

    func frequent() -> RouteEntry {
        var entry = self
        entry.isFrequent = true
        return entry
    }
}

/// Limits on content, in bytes.
enum BodyLimit {
    static let form = 4_096
    static let api = 16_384
    static let notification = 65_536
    /// An application's request, in a query or a form: `state` and `nonce` at their longest, escaped.
    static let authorize = 32_768
    /// The form in which a person decides on one: with a mark and a ticket, at most 512 each, and the decision.
    static let decision = authorize + 2_048

    /// Apple's answer from an app; less when the server accepts less.
    static func native(_ configuration: WebConfiguration) -> Int { min(65_536, configuration.limits.callbackBody) }

    static func require(_ limit: Int, of request: ServerRequest) throws(Failure) {
        guard request.body.count <= limit else { throw Failure(.contentTooLarge) }
    }
}

extension WebRoutes {
    /// Every route; those of the API, of applications' backends and of operators have pages of their own.
    func entries() -> [RouteEntry] {
        proxyEntries() + apiEntries() + linkEntries() + openIDEntries() + operatorEntries() + [
            RouteEntry(.get, "/", root),
            RouteEntry(.get, "/login", limit: signIns, loginPage),
            RouteEntry(.get, "/login/attempt", limit: signIns, loginAttempt).read(by: .program),
            RouteEntry(.get, "/login/apple", limit: signIns, loginApple),
            RouteEntry(.get, "/.well-known/change-password", changePassword),
            // It checks its limit itself: a refused callback does not lose the name that Apple sends only once.
            RouteEntry(.post, "/apple/callback", body: configuration.limits.callbackBody, callback),
            RouteEntry(.post, "/apple/notifications", body: BodyLimit.notification, notification).read(by: .program),
            RouteEntry(.get, "/account", accountPage),
            RouteEntry(.post, "/account/sessions/revoke", body: BodyLimit.form, revokeSession),
            RouteEntry(.post, "/account/sessions/revoke-all", body: BodyLimit.form, revokeOtherSessions),
            RouteEntry(.post, "/account/applications/end", body: BodyLimit.form, endOwnAccess),
            RouteEntry(.get, "/account/export", export),
            RouteEntry(.get, "/account/delete", deletionPage),
            RouteEntry(.post, "/account/delete", body: BodyLimit.form, postDeletion),
            RouteEntry(.get, "/account/deleted", deletedPage),
            RouteEntry(.get, "/logout", logoutPage),
            RouteEntry(.post, "/logout", body: BodyLimit.form, logout),
            RouteEntry(.post, "/logout/switch", body: BodyLimit.form, switchAccount),
            RouteEntry(.get, "/assets/{path...}", asset).frequent(),
        ]
    }

    private func proxyEntries() -> [RouteEntry] {
        [
            RouteEntry(.get, "/auth/verify", verify).read(by: .proxy).frequent(),
            RouteEntry(.get, "/auth/forbidden", forbidden).read(by: .proxy),
            RouteEntry(.get, "/oauth2/auth", proxyAuth).read(by: .proxy).frequent(),
            RouteEntry(.get, "/oauth2/sign_in", proxySignIn),
            RouteEntry(.get, "/oauth2/start", proxyStart),
            RouteEntry(.get, "/oauth2/sign_out", proxySignOut),
            RouteEntry(.get, "/oauth2/userinfo", proxyUserInfo).read(by: .program),
        ]
    }

    private func linkEntries() -> [RouteEntry] {
        [
            RouteEntry(.get, "/link/{id}", limit: signIns, visited(linkPage)),
            RouteEntry(.post, "/link/{id}", limit: signIns, connectLink),
            RouteEntry(.get, "/link/{id}/attempt", limit: signIns, visited(linkAttempt)).read(by: .program),
            RouteEntry(.get, "/link/{id}/apple", limit: signIns, visited(linkApple)),
            RouteEntry(.post, "/login/existing", limit: signIns, body: BodyLimit.form, existingAccount),
        ]
    }

    private func openIDEntries() -> [RouteEntry] {
        guard services.openID != nil else { return [] }
        // Endpoints that applications call are open to pages of every origin: they use no cookie.
        let called = [
            RouteEntry(.post, "/oidc/token", body: BodyLimit.api, openIDTokens),
            RouteEntry(.get, "/oidc/userinfo", userInfo),
            RouteEntry(.post, "/oidc/userinfo", body: BodyLimit.api, userInfo),
            RouteEntry(.post, "/oidc/revoke", body: BodyLimit.api, revokeToken),
            RouteEntry(
                .post, "/oidc/device_authorization", limit: devices, body: BodyLimit.api, authorizeDevice),
        ]
        let metadata = [
            RouteEntry(.get, "/.well-known/openid-configuration", openIDMetadata),
            RouteEntry(.get, "/.well-known/oauth-authorization-server", openIDMetadata),
        ]
        return [
            RouteEntry(.get, "/oidc/authorize", authorize),
            RouteEntry(.post, "/oidc/authorize", body: BodyLimit.authorize, postAuthorize),
            RouteEntry(.post, "/oidc/consent", limit: signIns, body: BodyLimit.decision, decide),
            RouteEntry(.get, "/device", devicePage),
            RouteEntry(.post, "/device", limit: signIns, body: BodyLimit.form, postDevice),
            RouteEntry(.get, "/oidc/logout", limit: signIns, openIDLogout),
            RouteEntry(.post, "/oidc/logout", limit: signIns, body: BodyLimit.authorize, postOpenIDLogout),
        ] + called.map { $0.read(by: .client, in: .everyone) } + metadata.map { $0.read(by: .program, in: .everyone) }
    }
}
