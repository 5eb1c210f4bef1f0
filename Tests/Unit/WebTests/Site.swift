import Coding
import Crypto
import HTTP
import HTTPTypes
import LogRecording
import Sockets
import Storage
import Stores
import Synchronization
import Web

@testable import Accounts

/// The whole web side over the real database and a fake Apple, and a browser's worth of conveniences to talk to it.
struct Site: Answering {
    let configuration: WebConfiguration
    let application: WebApplication
    let database: TestDatabase
    let webhooks = FakeWebhooks()
    let apple = FakeApple()
    let clock = ManualClock(1_790_000_000)
    let log = LogRecorder()
    let signingKeys: SigningKeys
    let keyring = TestDatabase.keyring

    var store: Accounts.Database { database.store }

    static let browserToken = "brs_" + String(repeating: "A", count: 43)
    static let nativeToken = "brs_" + String(repeating: "N", count: 43)
    static let binding = String(repeating: "B", count: 42) + "A"

    init(
        publicURL: String = "https://login.example.com", name: String = "Example Orchard", scopes: [String] = ["name"],
        allowedOrigins: [String] = ["https://app.example.com"], signUp: SignUpPolicy = .open,
        currentRules: CurrentAccessRules? = nil, adjust: (inout WebConfiguration) -> Void = { _ in }
    ) throws {
        var configuration = WebConfiguration.forTests(publicURL, scopes: scopes)
        configuration.site.name = name
        configuration.site.privacyURL = "https://example.com/privacy"
        configuration.login.allowedReturnOrigins = allowedOrigins
        adjust(&configuration)
        self.configuration = configuration
        database = TestDatabase(limits: configuration.sessionLimits, clock: clock)
        let store = database.store
        configuration.signIn.signUp = signUp
        let random = CountingRandom()
        let logger = log.logger
        let signIn = SignIn(
            provider: apple, database: store, keyring: keyring,
            configuration: configuration.signIn, returnTargets: configuration.returnTargets,
            runtime: Runtime(clock: clock, random: random, logger: .silent))
        let notifications = Notifications(provider: apple, database: store, clock: clock, logger: .silent)
        signingKeys = SigningKeys(
            database: store, keyring: keyring,
            algorithms: SigningAlgorithm.allCases.filter { algorithm in
                configuration.assertionAudiences.contains { $0.algorithm == algorithm }
            },
            runtime: Runtime(clock: clock, random: SystemRandom(), logger: .silent))
        var services = WebApplication.Services(
            signIn: signIn, database: store, notifications: notifications,
            runtime: Runtime(clock: clock, random: random, logger: logger))
        services.signingKeys = signingKeys
        services.keyring = keyring
        services.webhooks = try webhooks.endpoints(store, clock: clock, random: random)
        services.accessRules = currentRules
        application = WebApplication(
            configuration: configuration, pages: try Pages(configuration: configuration), services: services)
    }

    // MARK: People

    /// One that Anna is signed in to, or somebody else.
    static func signedIn(
        _ name: PersonName = anna, email: EmailAddress? = annas, groups: [String] = [], state: User.State = .active,
        kind: SessionKind = .browser, forwarding: Bool? = nil, agent: String = safari, isFailing: Bool = false
    ) throws -> Site {
        let site = try Site()
        site.signIn(name, email: email, groups: groups, state: state, kind: kind, forwarding: forwarding, agent: agent)
        if isFailing { site.database.faults.fail() }
        return site
    }

    static let anna = PersonName(given: "Anna", family: "Appleseed")
    static let annas = EmailAddress(address: "anna@example.com", isVerified: true, isPrivate: false)
    static let safari = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/18.0 Safari/605.1.15"

    @discardableResult
    func signIn(
        _ name: PersonName = anna,
        email: EmailAddress? = annas,
        groups: [String] = [], state: User.State = .active, kind: SessionKind = .browser, forwarding: Bool? = nil,
        agent: String = safari
    ) -> SignedIn {
        let user = User(
            id: UserID(unchecked: "usr_00000000000000000000000001"), state: state, groups: groups, name: name,
            email: email, emailForwarding: forwarding, appleSubject: AppleSubject("001.sub"), createdAt: clock.now())
        let token = kind == .browser ? Self.browserToken : Self.nativeToken
        let session = Session(
            id: SessionID(unchecked: "ses_0000000000000000000000000" + (kind == .browser ? "1" : "2")),
            tokenHash: SHA256.hash(utf8: token), kind: kind, user: user.id, clientID: ClientID("com.example.web"),
            device: Device(userAgent: agent, address: "203.0.113.5"), issuedAt: clock.now(), createdAt: clock.now(),
            lastSeenAt: clock.now(), expiresAt: clock.now().adding(seconds: 2_592_000))
        database.put(user)
        database.put(session)
        return SignedIn(session: session, user: user)
    }

    /// More sessions of the person who is signed in, each used a second before the one before it.
    func addSessions(_ count: Int) -> [SessionID] {
        (1...count).map { number in
            let now = clock.now()
            let session = Session(
                id: SessionID(unchecked: "ses_" + String(repeating: "0", count: 23) + "\(100 + number)"),
                tokenHash: SHA256.hash(utf8: "more \(number)"), kind: .browser, user: Self.userID(1),
                clientID: ClientID("com.example.web"), device: Device(userAgent: "", address: "203.0.113.5"),
                issuedAt: now, createdAt: now, lastSeenAt: now.adding(seconds: -Int64(number)),
                expiresAt: now.adding(seconds: 2_592_000))
            database.put(session)
            return session.id
        }
    }

    var cookie: String {
        (configuration.cookieDomain == nil ? "__Host-bramley=" : "__Secure-bramley=") + Self.browserToken
    }

    static let bindingCookie = "__Host-bramley-login=\(binding)"

    /// Apple's post that ends a sign-in of this site's browser.
    func callback(returnTo: String? = nil) async throws -> ServerResponse {
        let form = [("state", try await state(returnTo: returnTo)), ("code", "c"), ("id_token", "t")]
        return await post("/apple/callback", form: form, [.cookie: Self.bindingCookie])
    }

    /// A state sealed for the binding of this site's browser.
    func state(returnTo: String? = nil) async throws -> String {
        let query = returnTo.map { "?return_to=" + PercentEncoding.encodeComponent($0) } ?? ""
        let response = await get("/login/attempt" + query, cookie: Self.bindingCookie)
        return try JSONReader.parse(response.bytes).objectValue?["state"]?.stringValue ?? ""
    }
}

/// What can be asked.
protocol Answering {
    var application: WebApplication { get }
}

extension Answering {
    func send(
        _ method: HTTPRequest.Method, _ target: String, _ fields: HTTPFields = HTTPFields(), body: String = "",
        trusted: Bool = false, client: IPAddress = .v4(0x0A00_0001), host: String = "login.example.com"
    ) async -> ServerResponse {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        return await application.respond(
            to: ServerRequest(
                head: HTTPRequest(
                    method: method, scheme: "http", authority: host, path: target,
                    headerFields: fields),
                path: String(parts[0]), query: parts.count > 1 ? String(parts[1]) : nil, body: Array(body.utf8),
                client: client, isFromTrustedProxy: trusted))
    }

    func get(_ target: String, _ fields: HTTPFields = HTTPFields(), trusted: Bool = false) async -> ServerResponse {
        await send(.get, target, fields, trusted: trusted)
    }

    /// A GET with this `Cookie`.
    func get(_ target: String, cookie: String) async -> ServerResponse {
        await send(.get, target, [.cookie: cookie])
    }

    /// A form posted by a page of ours, or by Apple's when `fields` say so.
    func post(
        _ target: String, form: [(String, String)] = [], _ fields: HTTPFields, client: IPAddress = .v4(0x0A00_0001)
    ) async -> ServerResponse {
        var fields = fields
        if fields[.contentType] == nil { fields[.contentType] = "application/x-www-form-urlencoded" }
        return await send(
            .post, target, fields, body: String(decoding: FormEncoder.encode(form), as: UTF8.self), client: client)
    }
}

/// Takes what is streamed.
extension ServerResponse {
    /// With its content in one piece.
    func collected() async throws -> ServerResponse {
        guard case .stream(let produce) = body else { return self }
        var bytes: [UInt8] = []
        try await produce(BodyWriter { bytes += $0 })
        var response = self
        response.body = .bytes(bytes)
        return response
    }

    var bytes: [UInt8] {
        if case .bytes(let bytes) = body { return bytes }
        return []
    }
    var text: String { String(decoding: bytes, as: UTF8.self) }
    var location: String? { fields[.location] }
    var setCookies: [String] { fields[values: .setCookie] }
    var json: JSONObject? { (try? JSONReader.parse(bytes))?.objectValue }
    var policy: String { fields[.contentSecurityPolicy] ?? "" }
    /// The identity that a proxy receives.
    var userField: String? { fields[HTTPField.Name("X-Auth-Request-User")!] }
}

/// Different bytes at every call, the same in every run.
final class CountingRandom: RandomSource, Sendable {
    private let counter = Mutex<UInt64>(0)
    func bytes(_ count: Int) -> [UInt8] {
        let value = counter.withLock { counter in
            counter += 1
            return counter
        }
        return (0..<count).map { UInt8(truncatingIfNeeded: (value &* 31) &+ UInt64($0) &* 7 &+ (value >> 8)) }
    }
}

extension WebConfiguration {
    /// A site's, in English: pages of every language would take longer to make than most tests take.
    static func forTests(_ publicURL: String, scopes: [String]) -> WebConfiguration {
        var configuration = WebConfiguration()
        configuration.publicURL = PublicURL(publicURL)!
        configuration.site.name = "Example Orchard"
        configuration.apple.servicesID = "com.example.web"
        configuration.apple.teamID = TeamID("TEAM123456")
        configuration.apple.scopes = scopes
        configuration.login.allowedReturnOrigins = ["https://app.example.com"]
        configuration.login.defaultReturnTo = configuration.publicURL.path("/account")
        configuration.sessionLimits = SessionLimits(lifetime: 2_592_000, idleTimeout: 604_800)
        configuration.locales = ["en"]
        return configuration
    }
}
