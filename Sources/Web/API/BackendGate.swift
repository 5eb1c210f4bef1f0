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
    /// Charged, and checked, only for refused keys: whoever shares an address with an attacker is not locked out.
    let failures: RateGate
    private let uses = UseTimes<APIKeyID>()

    /// A route that needs to know its caller's key.
    typealias KeyHandler = @Sendable (ServerRequest, PathParameters, APIKey) async throws(Failure) -> ServerResponse

    /// The route, for a key with this scope. Until the key is known, only the request's credential is read.
    func requiring(_ scope: APIScope, _ handle: @escaping KeyHandler) -> RouteEntry.Handler {
        { request, parameters throws(Failure) in
            let key = try await key(of: request)
            guard key.scopes.contains(scope) else {
                var failure = Failure(.insufficientScope, scope.rawValue)
                failure.challenges = [Failure.challenge + ", error=\"insufficient_scope\", scope=\"\(scope.rawValue)\""]
                throw failure
            }
            return try await request.answered(for: .application(key.id)) { () throws(Failure) in
                try await handle(request, parameters, key)
            }
        }
    }

    private func key(of request: ServerRequest) async throws(Failure) -> APIKey {
        guard let (token, isBasic) = Self.credential(request.fields) else { throw Failure(.apiKeyRequired) }
        guard let token, let found = try await database.apiKey(hash: token.hash) else {
            throw try refusal(request, isBasic: isBasic)
        }
        guard !found.isExpired(at: clock.now()) else {
            throw try refusal(
                request, isBasic: isBasic, .apiKeyExpired, ", error_description=\"The API key has expired\"")
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
        _ request: ServerRequest, isBasic: Bool, _ code: ReasonCode = .invalidToken, _ description: String = ""
    ) throws(Failure) -> Failure {
        try failures.pass(request)
        var failure = Failure(code)
        failure.challenges = [Failure.challenge + ", error=\"invalid_token\"" + description]
        if isBasic { failure.challenges.append(Failure.basicChallenge) }
        return failure
    }

    /// Records the key's use, to the minute, for the operator. If it cannot be written, the request still succeeds.
    private func touch(_ key: APIKey) async {
        let now = clock.now()
        guard uses.isDue(key.id, last: key.lastUsedAt, at: now) else { return }
        try? await database.touchAPIKey(key.id, at: now)
    }

    /// A backend's credential, parsed but not yet looked up. Blanks around the field are not part of it (RFC 9110
    /// §5.5). Nil without `Authorization`; no token for what cannot be an API key: a session's token, two fields, an
    /// unsupported scheme.
    private static func credential(_ fields: HTTPFields) -> (token: APIKeyToken?, isBasic: Bool)? {
        let values = fields[values: .authorization]
        guard let value = values.first else { return nil }
        let (scheme, credentials) = HTTPFields.authorization(value)
        let text: String? =
            switch scheme {
            case "bearer": credentials
            case "basic": credentials.flatMap(password)
            default: nil
            }
        return (values.count == 1 ? text.flatMap { APIKeyToken(parsing: $0) } : nil, scheme == "basic")
    }

    /// The password of Basic credentials (RFC 7617 §2), after the first colon; any name may be before it. RFC 6749
    /// §2.3.1 lets clients form-encode both; no key has a character this could change, so decoding is harmless.
    private static func password(_ credentials: String) -> String? {
        guard let bytes = Base64.decode(Array(credentials.utf8)),
            let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            let password = PercentEncoding.decode(Array(bytes[(colon + 1)...]))
        else { return nil }
        return String(validating: password, as: UTF8.self)
    }
}
