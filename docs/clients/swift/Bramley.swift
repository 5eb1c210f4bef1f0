import AsyncHTTPClient
import Crypto
import Foundation
import JWTKit

/// Who is signed in. `sub` is their key; Apple may give no name and no address.
struct Person: JWTPayload {
    let iss: IssuerClaim
    let sub: SubjectClaim
    let aud: AudienceClaim
    let exp: ExpirationClaim
    let nonce: String
    let name: String?
    let email: String?

    func verify(using _: some JWTAlgorithm) throws { try exp.verifyNotExpired() }
}

/// A sign-in in progress, kept in a cookie.
struct Attempt {
    var state = randomText(), nonce = randomText(), verifier = randomText()

    init() {}

    /// Reads the cookie's value.
    init?(_ cookie: String) {
        let parts = cookie.split(separator: ".").map(String.init)
        guard parts.count == 3 else { return nil }
        (state, nonce, verifier) = (parts[0], parts[1], parts[2])
    }

    var cookie: String { "\(state).\(nonce).\(verifier)" }
}

struct Bramley: Sendable {
    var issuer = "https://id.example.com"
    var clientID = "swift"
    var clientSecret = ProcessInfo.processInfo.environment["CLIENT_SECRET"] ?? ""
    var redirectURI = "https://app.example.com/callback"

    func authorizeURL(_ attempt: Attempt) -> String {
        var url = URLComponents(string: issuer + "/oidc/authorize")!
        url.queryItems = [
            "response_type": "code", "client_id": clientID, "redirect_uri": redirectURI,
            "scope": "openid profile email",
            "state": attempt.state, "nonce": attempt.nonce, "code_challenge_method": "S256",
            "code_challenge": base64URL(SHA256.hash(data: Data(attempt.verifier.utf8))),
        ].map { URLQueryItem(name: $0, value: $1) }
        return url.string!
    }

    /// - Throws: if the answer does not belong to this attempt.
    func complete(_ attempt: Attempt, state: String, code: String) async throws -> Person {
        guard state == attempt.state else { throw JWTError.generic(identifier: "state", reason: "of another attempt") }
        var form = URLComponents()
        form.queryItems = [
            "grant_type": "authorization_code", "code": code, "redirect_uri": redirectURI,
            "code_verifier": attempt.verifier,
        ].map { URLQueryItem(name: $0, value: $1) }
        var request = HTTPClientRequest(url: issuer + "/oidc/token")
        request.method = .POST
        request.setBasicAuth(username: clientID, password: clientSecret)
        request.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
        request.body = .bytes(Array(form.percentEncodedQuery!.utf8))
        struct Tokens: Decodable { let id_token: String }
        let tokens = try JSONDecoder().decode(Tokens.self, from: try await send(request))

        let keys = JWTKeyCollection()
        let published = try await send(HTTPClientRequest(url: issuer + "/.well-known/jwks.json"))
        try await keys.add(jwksJSON: String(decoding: published, as: UTF8.self))
        let person = try await keys.verify(tokens.id_token, as: Person.self)
        try person.aud.verifyIntendedAudience(includes: clientID)
        guard person.iss.value == issuer, person.nonce == attempt.nonce else {
            throw JWTError.generic(identifier: "ID token", reason: "of another issuer or attempt")
        }
        return person
    }

    private func send(_ request: HTTPClientRequest) async throws -> Data {
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(10))
        let body = Data(try await response.body.collect(upTo: 65_536).readableBytesView)
        guard response.status == .ok else {
            throw JWTError.generic(identifier: "\(response.status)", reason: String(decoding: body, as: UTF8.self))
        }
        return body
    }
}

func randomText() -> String { SymmetricKey(size: .bits256).withUnsafeBytes { base64URL($0) } }

func base64URL(_ bytes: some Sequence<UInt8>) -> String {
    Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
        .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
}
