import Accounts
import Coding
import HTTP
import HTTPTypes

/// `POST /api/v1/native/challenge` and `…/sessions`: sign-in from apps, and the file that ties them to this site.
extension WebRoutes {
    /// How long Apple's servers may cache the association, in seconds.
    static let associationLifetime = 3_600

    /// A nonce of ours for one request to Apple.
    func nativeChallenge(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        try requireApps()
        _ = try APIQuery(request)
        if !request.body.isEmpty {
            guard try JSONBody(request).object.members.isEmpty else {
                throw .invalidRequest("send an empty body or {}")
            }
        }
        let challenge = signIn.beginNative()
        return responses.json { writer in
            writer.member("nonce", challenge.nonce)
            writer.member("expiresAt", challenge.expiresAt)
        }
    }

    func nativeSignIn(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        try requireApps()
        _ = try APIQuery(request)
        let asked = try NativeSignInRequest(
            JSONBody(request, of: ["identityToken", "authorizationCode", "nonce", "user"]), hasNonce: true)
        switch await signIn.completeNative(asked, device: DeviceDescription.device(of: request)) {
        case .signedIn(let token, let signedIn):
            return responses.json(signedIn.document(token: token))
        case .refused(let refusal, _), .refusedBefore(let refusal): throw Failure(refusal.code)
        case .failed(let failure): throw failure.ofApp
        }
    }

    /// Apple: Supporting associated domains, `webcredentials`. An app is identified by team and bundle ID.
    func appAssociation(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        try requireApps()
        let apps = configuration.apple.bundleIDs.map { bundleID in
            JSONValue.string("\(configuration.apple.teamID.rawValue).\(bundleID)")
        }
        return responses.json(
            JSONWriter.encode(["webcredentials": ["apps": .array(apps)]] as JSONValue),
            fields: [.cacheControl: "public, max-age=\(Self.associationLifetime)"])
    }

    func requireApps() throws(Failure) {
        guard !configuration.apple.bundleIDs.isEmpty else { throw Failure(.nativeNotConfigured) }
    }
}

extension NativeSignInRequest {
    /// - Parameter hasNonce: not with a link, which has its own.
    init(_ body: JSONBody, hasNonce: Bool) throws(Failure) {
        self.init(
            identityToken: try body.needed("identityToken", maximumSize: JSONBody.maximumTokenSize),
            authorizationCode: try body.needed("authorizationCode", maximumSize: JSONBody.maximumCodeSize))
        if hasNonce { nonce = try body.needed("nonce", maximumSize: JSONBody.maximumNonceSize) }
        (givenName, familyName) = try body.name()
    }
}

/// The content of a request as a JSON object, parsed strictly: a misspelt member would lose a name for ever.
struct JSONBody {
    /// Bytes; Apple's codes have some sixty, our nonces 83.
    static let maximumCodeSize = 4_096
    static let maximumNonceSize = 256
    static let maximumTokenSize = 16_384

    let object: JSONObject

    /// Content that has these members and no other.
    init(_ request: ServerRequest, of members: [String]) throws(Failure) {
        object = try JSONBody(request, types: ["application/json"]).object
        try require(members, "")
    }

    init(_ request: ServerRequest, types: [String] = ["application/json"]) throws(Failure) {
        guard let type = MediaType.essence(of: request.fields), types.contains(where: type.isExactly) else {
            throw Failure(.unsupportedMediaType)
        }
        let limits = JSONLimits(maximumBytes: request.body.count, maximumDepth: 4)
        let value = try translating(try JSONReader.parse(request.body, limits: limits)) { (error: JSONError) in
            Failure.invalidRequest("the content is not JSON: \(error.reason.rawValue)")
        }
        guard let object = value.objectValue else { throw .invalidRequest("the content is not an object") }
        self.object = object
    }

    private init(_ object: JSONObject) { self.object = object }

    private func require(_ names: [String], _ prefix: String) throws(Failure) {
        for member in object.members where !names.contains(where: { $0.isExactly(member.name) }) {
            throw .invalidRequest(APIQuery.refusal(of: prefix + member.name, names.map { prefix + $0 }, "member"))
        }
    }

    /// `user`, which Apple gives only once.
    func name() throws(Failure) -> (given: String?, family: String?) {
        guard let user = object["user"], !user.isNull else { return (nil, nil) }
        guard let user = user.objectValue.map({ JSONBody($0) }) else { throw .invalidRequest("user is not an object") }
        try user.require(["givenName", "familyName"], "user.")
        return (try user.text("givenName"), try user.text("familyName"))
    }

    func needed(_ name: String, maximumSize: Int = .max) throws(Failure) -> String {
        guard let value = try text(name, maximumSize: maximumSize), !value.isEmpty else {
            throw .invalidRequest("\(name) is missing")
        }
        return value
    }

    /// Null counts as absent.
    func text(_ name: String, maximumSize: Int = .max) throws(Failure) -> String? {
        guard let value = object[name], !value.isNull else { return nil }
        guard let text = value.stringValue else { throw .invalidRequest("\(name) is not a string") }
        guard text.utf8.count <= maximumSize else { throw .invalidRequest("\(name) is too long") }
        return text
    }
}
