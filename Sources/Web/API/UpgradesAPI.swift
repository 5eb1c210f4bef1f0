import Coding
import HTTP
import HTTPTypes
import RelyingParty

/// `/api/v1/upgrades`: an app on Apple's platforms replaces a password with Sign in with Apple.
struct UpgradesAPI: Sendable {
    let configuration: WebConfiguration
    let responses: WebResponses
    let linking: Linking

    /// Asks the application whether the password is right.
    func start(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        try linking.requireUpgrades()
        _ = try APIQuery(request)
        guard let type = MediaType.essence(of: request.fields), type.isExactly("application/json") else {
            throw .unsupportedMediaType
        }
        let body = try PasswordBody(json: request.body)
        var rest = request
        rest.body = body.rest
        let object = try NativeBody.object(rest)
        try NativeBody.require(object, toHoldOnly: ["username", "password"], "")
        let username = try NativeBody.needed("username", in: object)
        guard let password = body.password else { throw .invalidRequest("password is missing") }
        let answer = try await answeringPrograms { () throws(LinkFailure) in
            try await linking.startUpgrade(username: username, password: password)
        }
        return respond(answer)
    }

    func secondFactor(
        _ request: ServerRequest, _ parameters: PathParameters
    ) async throws(WebFailure) -> ServerResponse {
        try linking.requireUpgrades()
        _ = try APIQuery(request)
        let token: UpgradeToken = try LinkCredential.token(request.fields)
        let id = try Self.id(parameters)
        let code = try LinkBody.code(request)
        let answer = try await answeringPrograms { () throws(LinkFailure) in
            try await linking.secondFactor(id, token: token, code: code)
        }
        return respond(answer)
    }

    /// Brings Apple's answer. Reports success only once the application has removed the password.
    func complete(_ request: ServerRequest, _ parameters: PathParameters) async throws(WebFailure) -> ServerResponse {
        try linking.requireUpgrades()
        guard !configuration.apple.bundleIDs.isEmpty else { throw .nativeNotConfigured }
        _ = try APIQuery(request)
        let token: UpgradeToken = try LinkCredential.token(request.fields)
        let id = try Self.id(parameters)
        let asked = try LinkBody.authorization(request)
        let (session, signedIn) = try await answeringPrograms { () throws(LinkFailure) in
            try await linking.completeUpgrade(
                id, token: token, asked, device: DeviceDescription.device(of: request))
        }
        return responses.json(SessionDocument.encode(signedIn, token: session, result: "success"))
    }

    private func respond(_ answer: UpgradeAnswer) -> ServerResponse {
        var writer = JSONWriter(reserving: 384)
        writer.beginObject()
        switch answer {
        case .success(let start):
            writer.member("result", "success")
            Self.write(start, to: &writer)
            writer.member("nonce", start.nonce)
            writer.member("expiresAt", start.expiresAt)
        case .twoFactorAuthRequired(let start, let methods):
            writer.member("result", "twoFactorAuthRequired")
            Self.write(start, to: &writer)
            writer.name("methods")
            writer.beginArray()
            for method in methods { writer.write(method) }
            writer.endArray()
            writer.member("expiresAt", start.expiresAt)
        case .failure: writer.member("result", "failure")
        }
        writer.endObject()
        return responses.json(writer.bytes)
    }

    private static func write(_ start: UpgradeStart, to writer: inout JSONWriter) {
        writer.member("id", start.id.rawValue)
        writer.member("upgradeToken", start.token.reveal())
    }

    /// An invalid id names no upgrade.
    private static func id(_ parameters: PathParameters) throws(WebFailure) -> UpgradeID {
        guard let id = parameters["id"].flatMap({ UpgradeID(parsing: $0) }) else { throw .link(.unknown, way: nil) }
        return id
    }
}
