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
    let failures: RateGate
    private let uses = UseTimes<APIKeyID>()

    /// A route that needs to know its caller's key.
    typealias KeyHandler =
        @Sendable (ServerRequest, PathParameters, APIKey) async throws(Failure) -> ServerResponse

    /// The route behind a key with this scope. Before, only the request's credential is read.
    func requiring(_ scope: APIScope, _ handle: @escaping KeyHandler) -> RouteEntry.Handler {
        { request, parameters throws(Failure) in
            let key = try await key(of: request)
            guard key.scopes.contains(scope) else {
                var failure = Failure(.insufficientScope, scope.rawValue)
                failure.challenges = [
                    Failure.challenge + ", error=\"insufficient_scope\", scope=\"\(scope.rawValue)\""
                ]
                throw failure
            }
            return try await request.answered(for: .application(key.id)) { () throws(Failure) in
                try await handle(request, parameters, key)
            }
        }
    }

    private func key(of request: ServerRequest) async throws(Failure) -> APIKey {
        let token: APIKeyToken
        let scheme: BackendCredential.Scheme
        switch BackendCredential(request.fields) {
        case .none: throw Failure(.apiKeyRequired)
        case .malformed(let scheme): throw try refusal(request, scheme)
        case .key(let value, let usedScheme): (token, scheme) = (value, usedScheme)
        }
        let found = try await database.apiKey(hash: token.hash)
        guard let found else { throw try refusal(request, scheme) }
        guard !found.isExpired(at: clock.now()) else {
            throw try refusal(request, scheme, .apiKeyExpired, ", error_description=\"The API key has expired\"")
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
    ) throws(Failure) -> Failure {
        try failures.pass(request)
        var failure = Failure(code)
        failure.challenges = [Failure.challenge + ", error=\"invalid_token\"" + description]
        if scheme == .basic { failure.challenges.append(Failure.basicChallenge) }
        return failure
    }

    /// Records the key's use, to the minute. For the operator's information: a store that cannot write refuses nobody.
    private func touch(_ key: APIKey) async {
        let now = clock.now()
        guard uses.isDue(key.id, last: key.lastUsedAt, at: now) else { return }
        try? await database.touchAPIKey(key.id, at: now)
    }
}

/// A backend's credential in `Authorization`: parsed, not yet looked up.
enum BackendCredential: Sendable {
    /// No `Authorization` at all.
    case none
    case key(APIKeyToken, Scheme)
    /// Something that cannot be an API key: a session's token, two fields, an unsupported scheme.
    case malformed(Scheme)

    enum Scheme: Hashable, Sendable {
        case bearer, basic
    }

    /// Blanks around the field do not belong to the value (RFC 9110 §5.5); any inside invalidate the credentials.
    init(_ fields: HTTPFields) {
        let values = fields[values: .authorization]
        guard let value = values.first else {
            self = .none
            return
        }
        let (name, credentials) = HTTPFields.authorization(value)
        let scheme: Scheme = name == "basic" ? .basic : .bearer
        guard values.count == 1, let credentials else {
            self = .malformed(scheme)
            return
        }
        let text: String? =
            switch name {
            case "bearer": credentials
            case "basic": Self.password(credentials)
            default: nil
            }
        guard let text, let token = APIKeyToken(parsing: text) else {
            self = .malformed(scheme)
            return
        }
        self = .key(token, scheme)
    }

    /// The password of Basic credentials (RFC 7617 §2): the text after the first colon. The name before it may be
    /// anything, since a key identifies itself. RFC 6749 §2.3.1 lets clients form-encode both; no key has a character
    /// this could change, so decoding is harmless.
    private static func password(_ credentials: String) -> String? {
        guard let bytes = Base64.decode(Array(credentials.utf8)),
            let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            let password = PercentEncoding.decode(Array(bytes[(colon + 1)...]))
        else { return nil }
        return String(validating: password, as: UTF8.self)
    }
}
