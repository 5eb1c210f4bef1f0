import Accounts
import Coding
import HTTP
import HTTPTypes

/// Admits applications by API key: parses the credential, looks the key up, and checks its scopes.
///
/// The key is read from the database for every request, so that a revoked one is refused by the next. Unknown, revoked
/// and malformed keys get one answer; the holder of an expired one is told so.
struct BackendGate: Sendable {
    let database: Database
    let clock: any WallClock
    /// Charged, and checked, only for refused keys: sharing an address with an attacker (behind a proxy, in a
    /// container) locks nobody out, and guessing 256 bits gains nothing by it.
    let failures: RateLimiter
    let stopwatch: Stopwatch
    private let uses = UseTimes<APIKeyID>()

    /// A route that needs to know its caller's key.
    typealias KeyHandler =
        @Sendable (ServerRequest, PathParameters, APIKey) async throws(WebFailure) -> ServerResponse

    /// The route behind a key with this scope. Before, only the request's credential is read.
    func requiring(_ scope: APIScope, _ handle: @escaping RouteTable.Handler) -> RouteTable.Handler {
        let withKey: KeyHandler = { request, parameters, _ throws(WebFailure) in
            try await handle(request, parameters)
        }
        return requiring(scope, withKey)
    }

    /// The same; the route receives the key.
    func requiring(_ scope: APIScope, _ handle: @escaping KeyHandler) -> RouteTable.Handler {
        { request, parameters throws(WebFailure) in
            let key = try await key(of: request)
            guard key.scopes.contains(scope) else {
                let field = WebFailure.challenge + ", error=\"insufficient_scope\", scope=\"\(scope.rawValue)\""
                throw WebFailure(.insufficientScope, scope.rawValue, fields: [.wwwAuthenticate: field])
            }
            return try await request.answered(for: .application(key.id)) { () throws(WebFailure) in
                try await handle(request, parameters, key)
            }
        }
    }

    private func key(of request: ServerRequest) async throws(WebFailure) -> APIKey {
        let token: APIKeyToken
        let scheme: BackendCredential.Scheme
        switch BackendCredential(request.fields) {
        case .none: throw WebFailure(.apiKeyRequired)
        case .malformed(let scheme): throw refusal(request, scheme)
        case .key(let value, let usedScheme): (token, scheme) = (value, usedScheme)
        }
        let found = try await WebFailure.mapping(await database.apiKey(hash: token.hash))
        guard let found else { throw refusal(request, scheme) }
        guard !found.isExpired(at: clock.now()) else {
            throw refusal(request, scheme, .apiKeyExpired, ", error_description=\"The API key has expired\"")
        }
        await touch(found)
        return found
    }

    /// Charges a refusal; when the limit is reached, that is the failure.
    ///
    /// RFC 6749 §5.2 requires the attempted scheme among the challenges. Otherwise Basic is not offered: it would make a
    /// browser that strays here prompt its user for a password.
    /// - Parameter description: the parameter `error_description`, with a leading comma.
    private func refusal(
        _ request: ServerRequest, _ scheme: BackendCredential.Scheme, _ code: ReasonCode = .invalidToken,
        _ description: String = ""
    ) -> WebFailure {
        if case .refused(let seconds) = failures.consume(request.client, now: stopwatch.milliseconds) {
            return .tooManyRequests(retryAfter: seconds)
        }
        var fields: HTTPFields = [.wwwAuthenticate: WebFailure.challenge + ", error=\"invalid_token\"" + description]
        if scheme == .basic {
            fields.append(HTTPField(name: .wwwAuthenticate, value: "Basic realm=\"bramley\", charset=\"UTF-8\""))
        }
        return WebFailure(code, fields: fields)
    }

    /// Records the key's use, to the minute. For the operator's information: a store that cannot write refuses nobody.
    private func touch(_ key: APIKey) async {
        let now = clock.now()
        guard uses.isDue(key.id, last: key.lastUsedAt, at: now) else { return }
        try? await database.touchAPIKey(key.id, at: now)
    }
}
