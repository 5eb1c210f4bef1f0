import Coding
import Crypto
import Foundation
import HTTP
import HTTPTypes
import LogRecording
import Storage
import Stores
import Synchronization
import Testing
import Web

@testable import Accounts

/// The web side over a real database, and a plain Apple.
final class LinkSite: Answering {
    static let binding = String(repeating: "B", count: 42) + "A"
    static let otherBinding = String(repeating: "C", count: 42) + "A"

    let application: WebApplication
    let configuration: WebConfiguration
    var database: Accounts.Database { stored.store }
    let apple = TokenApple()
    let clock = ManualClock(1_790_000_000)
    let log = LogRecorder()
    private let stored: TestDatabase

    init(asksExisting: Bool = false, adjust: (inout WebConfiguration) -> Void = { _ in }) throws {
        var configuration = WebConfiguration.forTests("https://login.example.com", scopes: ["name", "email"])
        configuration.apple.bundleIDs = ["com.example.app"]
        configuration.login.passwordURL = "https://accounts.example.org/in?a=1#f"
        configuration.signIn.signUp = .open
        configuration.signIn.nativeNonceIsRaw = true
        configuration.signIn.asksExisting = asksExisting
        adjust(&configuration)
        self.configuration = configuration
        stored = TestDatabase(limits: configuration.sessionLimits, clock: clock)
        let (database, keyring) = (stored.store, TestDatabase.keyring)
        let runtime = Runtime(clock: clock, random: SystemRandom(), logger: log.logger)
        var services = WebApplication.Services(
            signIn: SignIn(
                provider: apple, database: database, keyring: keyring, configuration: configuration.signIn,
                returnTargets: configuration.returnTargets, runtime: runtime), database: database,
            notifications: Notifications(provider: apple, database: database, clock: clock, logger: log.logger),
            runtime: runtime)
        services.keyring = keyring
        application = WebApplication(
            configuration: configuration, pages: try Pages(configuration: configuration), services: services)
    }

    // MARK: Backends

    func key(_ scopes: [APIScope] = [.links]) async throws -> HTTPFields {
        let token = APIKeyToken.make(random: SystemRandom())
        try await database.createAPIKey(
            APIKey(
                id: RandomIdentifier(random: SystemRandom()).make(), name: "k", scopes: scopes, createdAt: clock.now()),
            hash: token.hash)
        return [.authorization: "Bearer \(token.reveal())", .contentType: "application/json"]
    }

    func json(_ path: String, _ body: String, _ fields: HTTPFields = [:]) async -> ServerResponse {
        var fields = fields
        if fields[.contentType] == nil { fields[.contentType] = "application/json" }
        return await send(.post, path, fields, body: body)
    }

    /// A link as its backend holds it.
    struct Made {
        var id: String
        /// Its address, without the origin.
        var url: String
        /// Where its id leads the browser that has opened it.
        var page: String { "/link/\(id)" }
        var ticket: String
        var nonce: String
    }

    func link(
        _ externalID: String = "42", kind: String = "link", returnTo: String = "https://app.example.com/done?x=1#f",
        ticket: String? = nil, key: HTTPFields
    ) async throws -> Made {
        let more = ticket.map { #","ticket":"\#($0)""# } ?? ""
        let response = await json(
            "/api/v1/links",
            #"{"externalID":"\#(externalID)","kind":"\#(kind)","displayName":"ada@orchard","returnTo":"\#(returnTo)"\#(more)}"#,
            key)
        try #require(response.status == .created, "\(response.text)")
        func member(_ name: String) throws -> String { try #require(response.json?[name]?.stringValue) }
        return Made(
            id: try member("id"), url: try member("url").replacing("https://login.example.com", with: ""),
            ticket: try member("ticket"), nonce: try member("nonce"))
    }

    /// What a backend sends when the browser has come back with its code.
    func complete(_ id: String, _ code: String, _ key: HTTPFields) async -> ServerResponse {
        await json("/api/v1/links/\(id)/complete", #"{"code":"\#(code)"}"#, key)
    }

    func authorization(_ subject: String, _ nonce: String, code: String = "c1") -> String {
        #"{"identityToken":"\#(subject)|\#(nonce)|\#(code)","authorizationCode":"\#(code)","user":{"givenName":"Ada"}}"#
    }

    // MARK: Browsers

    func browser(_ binding: String = binding, session: String? = nil) -> HTTPFields {
        let session = session.map { "; __Host-bramley=\($0)" } ?? ""
        return [
            .cookie: "__Host-bramley-login=\(binding)\(session)", .secFetchSite: "same-origin",
            .contentType: "application/x-www-form-urlencoded",
        ]
    }

    /// What Apple's script is given by a page.
    func attempt(_ page: ServerResponse) throws -> (state: String, nonce: String) {
        func meta(_ name: String) throws -> String {
            let html = page.text
            let start = try #require(
                html.firstRange(of: "<meta name=\"appleid-signin-\(name)\" content=\""), "no button on the page")
            return String(html[start.upperBound...].prefix { $0 != "\"" })
        }
        return (try meta("state"), try meta("nonce"))
    }

    /// Apple's post after the button of this page was used.
    func callback(
        _ page: ServerResponse, subject: String = "ada", code: String = "c1", error: String? = nil,
        user: String? = nil, keptName: String? = nil, binding: String = binding
    ) async throws -> ServerResponse {
        let (state, nonce) = try attempt(page)
        let form =
            error.map { [("state", state), ("error", $0)] }
            ?? [("state", state), ("code", code), ("id_token", "\(subject)|\(nonce)|\(code)")]
            + (user.map { [("user", $0)] } ?? [])
        var fields = browser(binding)
        if let keptName { fields[.cookie] = (fields[.cookie] ?? "") + "; " + keptName }
        fields[.secFetchSite] = "cross-site"
        return await post("/apple/callback", form: form, fields)
    }

    /// The code with which the browser comes back from Apple by this link.
    func code(of link: Made) async throws -> String {
        try #require(try await callback(await get(link.url, browser())).parameter("code"))
    }
}

extension ServerResponse {
    func hidden(_ name: String) -> String? {
        text.firstRange(of: "<input type=\"hidden\" name=\"\(name)\" value=\"").map {
            String(text[$0.upperBound...].prefix { $0 != "\"" })
        }
    }

    func parameter(_ name: String) -> String? {
        location?.firstRange(of: "\(name)=").map { range in
            String((location ?? "")[range.upperBound...].prefix { $0 != "&" && $0 != "#" })
        }
    }
}

/// A plain Apple that fails on demand.
final class TokenApple: IdentityProvider {
    let failure = Mutex<Failure?>(nil)
    let verifyFailure = Mutex<Failure?>(nil)

    func authorizeURL(state: String, nonce: String) -> String {
        "https://appleid.apple.com/auth/authorize?state=\(state)&nonce=\(nonce)"
    }

    func parseCallback(_ body: [UInt8]) throws(Failure) -> CallbackForm {
        try PlainApple.parse(body)
    }

    func claimedSubject(of identityToken: String) -> AppleSubject? {
        PlainApple.claimedSubject(of: identityToken)
    }

    func verify(
        identityToken: String, authorizationCode: String, nonce: String, clientIDs: [ClientID]
    ) async throws(Failure) -> IdentityClaims {
        if let failure = verifyFailure.withLock({ $0 }) { throw failure }
        return try PlainApple.verify(
            identityToken, code: authorizationCode, nonce: nonce, client: clientIDs[0],
            at: Timestamp(seconds: 1_790_000_000))
    }

    func exchange(
        authorizationCode: String, nonce: String, claims: IdentityClaims
    ) async throws(Failure) -> VerifiedIdentity {
        if let failure = failure.withLock({ $0 }) { throw failure }
        return VerifiedIdentity(claims: claims, refreshToken: RefreshToken("r.\(authorizationCode)"))
    }
}
