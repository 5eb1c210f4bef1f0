import Accounts
import Coding
import HTTP
import HTTPTypes

/// `POST /api/v1/native/challenge` and `…/sessions`: sign-in from apps on Apple's platforms, and the file by which
/// those platforms know that the apps and this site belong together.
struct NativeAPI: Sendable {
    let configuration: WebConfiguration
    let responses: WebResponses
    let signIn: SignIn

    /// How long Apple's servers may cache the association, in seconds.
    static let associationLifetime = 3_600

    /// A nonce of ours for one request to Apple.
    func challenge(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        try requireApps()
        _ = try APIQuery(request)
        if !request.body.isEmpty {
            let object = try NativeBody.object(request)
            guard object.members.isEmpty else { throw .invalidRequest("send an empty body or {}") }
        }
        let challenge = signIn.beginNative()
        var writer = JSONWriter(reserving: 192)
        writer.beginObject()
        writer.member("nonce", challenge.nonce)
        writer.member("expiresAt", challenge.expiresAt)
        writer.endObject()
        return responses.json(writer.bytes)
    }

    func signIn(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        try requireApps()
        _ = try APIQuery(request)
        let asked = try NativeBody.signIn(request)
        let outcome = await signIn.completeNative(asked, device: DeviceDescription.device(of: request))
        switch outcome {
        case .signedIn(let token, let signedIn):
            return responses.json(SessionDocument.encode(signedIn, token: token))
        case .refused(let refusal, _), .refusedBefore(let refusal): throw WebFailure(refusal.code)
        case .failed(let failure): throw WebFailure(ofApp: failure)
        }
    }

    /// Apple: Supporting associated domains, `webcredentials`. An app is identified by team and bundle ID.
    func association(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        try requireApps()
        var writer = JSONWriter(reserving: 256)
        writer.beginObject()
        writer.name("webcredentials")
        writer.beginObject()
        writer.name("apps")
        writer.beginArray()
        for bundleID in configuration.apple.bundleIDs {
            writer.write("\(configuration.apple.teamID.rawValue).\(bundleID)")
        }
        writer.endArray()
        writer.endObject()
        writer.endObject()
        var response = responses.empty(
            .ok,
            fields: [
                .contentType: "application/json", .cacheControl: "public, max-age=\(Self.associationLifetime)",
            ])
        response.body = .bytes(writer.bytes)
        return response
    }

    private func requireApps() throws(WebFailure) {
        guard !configuration.apple.bundleIDs.isEmpty else { throw WebFailure(.nativeNotConfigured) }
    }
}

/// The bodies that apps send. Parsed strictly: a misspelt member would lose a name for ever.
enum NativeBody {
    /// Bytes; Apple's codes have some sixty, our nonces 83.
    static let maximumCodeSize = 4_096
    private static let maximumNonceSize = 256
    static let maximumTokenSize = 16_384

    static func signIn(_ request: ServerRequest) throws(WebFailure) -> NativeSignInRequest {
        let object = try object(request)
        try require(object, toHoldOnly: ["identityToken", "authorizationCode", "nonce", "user"], "")
        var asked = NativeSignInRequest(
            identityToken: try needed("identityToken", in: object, maximumSize: maximumTokenSize),
            authorizationCode: try needed("authorizationCode", in: object, maximumSize: maximumCodeSize),
            nonce: try needed("nonce", in: object, maximumSize: maximumNonceSize))
        (asked.givenName, asked.familyName) = try name(in: object)
        return asked
    }

    /// `user`, which Apple gives only once.
    static func name(in object: JSONObject) throws(WebFailure) -> (given: String?, family: String?) {
        guard let user = object["user"], !user.isNull else { return (nil, nil) }
        guard let user = user.objectValue else { throw .invalidRequest("user is not an object") }
        try require(user, toHoldOnly: ["givenName", "familyName"], "user.")
        return (try text("givenName", in: user), try text("familyName", in: user))
    }

    /// The optional body of `DELETE /api/v1/account`; nil when empty.
    static func freshAuthorization(_ request: ServerRequest) throws(WebFailure) -> FreshAuthorization? {
        if request.body.isEmpty { return nil }
        let object = try object(request)
        try require(object, toHoldOnly: ["authorizationCode", "identityToken", "nonce"], "")
        let fresh = FreshAuthorization(
            authorizationCode: try needed("authorizationCode", in: object, maximumSize: maximumCodeSize),
            identityToken: try text("identityToken", in: object, maximumSize: maximumTokenSize),
            nonce: try text("nonce", in: object, maximumSize: maximumNonceSize))
        guard fresh.identityToken == nil || fresh.nonce != nil else {
            throw .invalidRequest("identityToken needs a nonce")
        }
        return fresh
    }

    static func object(_ request: ServerRequest) throws(WebFailure) -> JSONObject {
        guard let type = MediaType.essence(of: request.fields), type.isExactly("application/json") else {
            throw WebFailure(.unsupportedMediaType)
        }
        let value: JSONValue
        do {
            value = try JSONReader.parse(
                request.body, limits: JSONLimits(maximumBytes: request.body.count, maximumDepth: 4))
        } catch {
            throw .invalidRequest("the content is not JSON: \(error.reason.rawValue)")
        }
        guard let object = value.objectValue else { throw .invalidRequest("the content is not an object") }
        return object
    }

    static func require(
        _ object: JSONObject, toHoldOnly names: [String], _ prefix: String
    ) throws(WebFailure) {
        for member in object.members where !names.contains(where: { $0.isExactly(member.name) }) {
            throw .invalidRequest(APIQuery.refusal(of: prefix + member.name, names.map { prefix + $0 }, "member"))
        }
    }

    static func needed(
        _ name: String, in object: JSONObject, maximumSize: Int = .max
    ) throws(WebFailure) -> String {
        guard let value = try text(name, in: object, maximumSize: maximumSize), !value.isEmpty else {
            throw .invalidRequest("\(name) is missing")
        }
        return value
    }

    /// Null counts as absent.
    static func text(
        _ name: String, in object: JSONObject, maximumSize: Int = .max
    ) throws(WebFailure) -> String? {
        guard let value = object[name], !value.isNull else { return nil }
        guard let text = value.stringValue else { throw .invalidRequest("\(name) is not a string") }
        guard text.utf8.count <= maximumSize else { throw .invalidRequest("\(name) is too long") }
        return text
    }
}
