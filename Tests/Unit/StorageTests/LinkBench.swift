import Coding
import Crypto
import Gates
import LogRecording
import Storage
import Stores
import Strangers
import Synchronization
import Testing

@testable import Accounts

/// A plain Apple. A code that begins with `of-sub-` is that person's.
final class LinkApple: IdentityProvider {
    private struct State {
        var exchanged: [String] = []
        var failure: Failure?
    }

    let servicesID = Bench.web
    let team: TeamID
    let clock: ManualClock
    let gate = Gate()
    private let state = Mutex(State())

    init(clock: ManualClock, team: TeamID = Bench.team) {
        self.clock = clock
        self.team = team
    }

    var exchanged: [String] { state.withLock { $0.exchanged } }
    func fail(with failure: Failure?) { state.withLock { $0.failure = failure } }

    func parseCallback(_ body: [UInt8]) throws(Failure) -> CallbackForm {
        try PlainApple.parse(body)
    }

    func verify(
        identityToken: String, authorizationCode: String, nonce: String, clientIDs: [ClientID]
    ) async throws(Failure) -> IdentityClaims {
        var claims = try PlainApple.verify(
            identityToken, code: authorizationCode, nonce: nonce, client: clientIDs[0], at: clock.now())
        // Somebody who comes from another team.
        if claims.subject.rawValue == "new-ann" { claims.transferSubject = "moved.ann" }
        return claims
    }

    func exchange(
        authorizationCode: String, nonce: String, claims: IdentityClaims
    ) async throws(Failure) -> VerifiedIdentity {
        await gate.pass()
        let (isFresh, failure) = state.withLock { state in
            defer { state.exchanged.append(authorizationCode) }
            return (!state.exchanged.contains(authorizationCode), state.failure)
        }
        if let failure { throw failure }
        guard isFresh else { throw Failure(.codeRefused, "invalid_grant") }
        var subject = claims.subject.rawValue
        if authorizationCode.hasPrefix("of-") { subject = String(authorizationCode.dropFirst(3).prefix { $0 != "-" }) }
        guard subject == claims.subject.rawValue else { throw Failure(.tokenMismatch, "sub") }
        return VerifiedIdentity(claims: claims, refreshToken: RefreshToken("r.\(subject).\(authorizationCode)"))
    }
}

/// Everything linking needs, over a real database.
final class LinkBench: Sendable {
    let bench: Bench
    let clock: ManualClock
    let apple: LinkApple
    let database: Accounts.Database
    let signIn: SignIn
    let log: LogRecorder
    let keyring: SealingKeyring
    let browser: BrowserBinding
    let device = Device(userAgent: "Test", address: "127.0.0.1")

    static let targets = ReturnTargets(
        publicURL: "https://id.example.com", allowedOrigins: ["https://app.example.com"], defaultTarget: "/account")

    init(
        _ bench: Bench, keyring: SealingKeyring? = nil, signUp: SignUpPolicy = .open, asksExisting: Bool = false,
        apple: LinkApple? = nil, onAccountDeleted: AccountDeletionPolicy = .erase, log: LogRecorder = LogRecorder(),
        browser: BrowserBinding = .make(random: SystemRandom())
    ) throws {
        self.bench = bench
        clock = bench.clock
        self.log = log
        self.browser = browser
        var opened = bench
        self.keyring = keyring ?? bench.keyring
        opened.keyring = self.keyring
        // Two processes write here, on a machine that may be busy: neither gives up soon.
        database = try opened.open(
            opened.options(onAccountDeleted: onAccountDeleted, busyTimeout: 30_000))
        let theApple = apple ?? LinkApple(clock: bench.clock)
        self.apple = theApple
        var configuration = SignInConfiguration(signUp: signUp)
        configuration.asksExisting = asksExisting
        signIn = SignIn(
            provider: theApple, database: database, keyring: self.keyring, configuration: configuration,
            returnTargets: Self.targets,
            runtime: Runtime(clock: bench.clock, random: SystemRandom(), logger: log.logger))
    }

    convenience init(
        signUp: SignUpPolicy = .open, asksExisting: Bool = false, onAccountDeleted: AccountDeletionPolicy = .erase
    ) throws {
        try self.init(Bench(), signUp: signUp, asksExisting: asksExisting, onAccountDeleted: onAccountDeleted)
    }

    /// The next process over the same file, after this one was ended at once: nothing in memory is left.
    func restarted(
        _ keyring: SealingKeyring? = nil, asksExisting: Bool = false, team: TeamID? = nil
    ) throws -> LinkBench {
        database.close()
        return try LinkBench(
            bench, keyring: keyring ?? self.keyring, asksExisting: asksExisting,
            apple: team.map { LinkApple(clock: clock, team: $0) } ?? apple, log: log, browser: browser)
    }

    /// Another process beside this one.
    func beside() throws -> LinkBench {
        try LinkBench(bench, keyring: keyring, apple: apple, log: log, browser: browser)
    }

    var now: Timestamp { clock.now() }

    // MARK: Links

    func link(
        _ externalID: String = "account-1", kind: LinkKind = .link, mayReplace: Bool = false,
        returnTo: String? = "https://app.example.com/linked?tab=1", waiting: LinkTicket? = nil
    ) async throws -> NewLink {
        try await signIn.createLink(
            externalID: externalID, kind: kind, displayName: "Ann at Example", returnTo: returnTo, waiting: waiting,
            by: APIKey(
                id: Self.apiKey, name: "backend", scopes: mayReplace ? [.links, .linksReplace] : [.links],
                createdAt: now))
    }

    /// Whose links these are.
    static let apiKey = APIKeyID(unchecked: "key_00000000000000000000000001")

    func request(
        _ nonce: String, _ subject: String = "ann", code: String = "code-1", given: String? = nil
    ) -> NativeSignInRequest {
        let claim = Hexadecimal.encode(SHA256.hash(utf8: nonce).bytes)
        return NativeSignInRequest(
            identityToken: "\(subject)|\(claim)|\(code)", authorizationCode: code, nonce: nonce, givenName: given)
    }

    func authorize(
        _ link: NewLink, _ subject: String = "ann", code: String? = nil, given: String? = nil
    ) async throws(Failure) -> LinkCode {
        try await signIn.authorizeLink(
            link.id, ticket: link.ticket,
            request(link.nonce, subject, code: code ?? "code-\(subject)-\(link.id)", given: given), device: device)
    }

    /// Opens the link's address in a browser.
    func open(_ link: NewLink, _ browser: BrowserBinding? = nil) async throws(Failure) {
        try await signIn.openLink(link.id, token: link.addressToken, binding: browser ?? self.browser)
    }

    /// An attempt of the link's page, in the browser that opens its address.
    func begin(_ link: NewLink, _ browser: BrowserBinding? = nil) async throws(Failure) -> Attempt {
        try await open(link, browser)
        return try await signIn.beginLink(link.id, binding: browser ?? self.browser)
    }

    func complete(_ link: NewLink, _ code: LinkCode) async throws(Failure) -> User {
        try await signIn.completeLink(link.id, code: code.reveal(), apiKey: Self.apiKey)
    }

    /// A whole link.
    func linked(
        _ externalID: String = "account-1", _ subject: String = "ann", kind: LinkKind = .link, mayReplace: Bool = false
    ) async throws -> User {
        let link = try await link(externalID, kind: kind, mayReplace: mayReplace)
        return try await complete(link, try await authorize(link, subject))
    }

    /// What `complete` of a fresh link throws.
    func failure(
        _ externalID: String = "account-1", _ subject: String = "ann", kind: LinkKind = .link, mayReplace: Bool = false
    ) async throws -> Failure? {
        let link = try await link(externalID, kind: kind, mayReplace: mayReplace)
        let code = try await authorize(link, subject)
        do throws(Failure) {
            _ = try await complete(link, code)
            return nil
        } catch {
            return error
        }
    }

    // MARK: Browsers

    func form(_ attempt: Attempt, _ subject: String = "ann", code: String? = nil, user: String? = nil) -> [UInt8] {
        let code = code ?? "code-\(attempt.nonce)"
        var fields = [
            ("state", attempt.state), ("code", code), ("id_token", "\(subject)|\(attempt.nonce)|\(code)"),
        ]
        if let user { fields.append(("user", user)) }
        return FormEncoder.encode(fields)
    }

    func post(_ body: [UInt8], _ browser: BrowserBinding? = nil) async -> SignInOutcome {
        await signIn.complete(
            signIn.receive(body, binding: .value(browser ?? self.browser)), sameOrigin: false, device: device)
    }

    func signInWithApple(_ subject: String = "ann") async -> SignInOutcome {
        let attempt = signIn.begin(binding: browser, returnTo: Self.targets.defaultTarget, replacing: nil)
        return await post(form(attempt, subject))
    }

    // MARK: What is there

    func user(_ externalID: String = "account-1") async throws -> User? {
        try await database.user(externalID: externalID)
    }

    func row(_ id: LinkID) async throws -> Link {
        guard let link = try await database.link(id) else { throw Unexpected() }
        return link
    }

    func events() async throws -> [String] {
        try await database.events(after: nil, limit: 1_000).map { entry in
            ([entry.kind.rawValue] + entry.fields + [entry.cause?.rawValue].compactMap { $0 }).joined(separator: " ")
        }
    }

    /// The events that tell of links: their kind, and the link that they name.
    func eventLines() async throws -> [String] {
        try await database.events(after: nil, limit: 1_000).filter { entry in
            [.accountLinked, .accountUpgraded].contains(entry.kind)
        }.map { "\($0.kind.rawValue) \($0.link?.rawValue ?? "of no link")" }
    }

    /// Every row of the tables that hold people.
    func dump() throws -> [String] {
        try bench.stranger().read { connection in
            let tables = [
                "user", "apple_identity", "apple_credential", "first_consent", "session", "revocation", "notification",
            ]
            return try tables.flatMap { table in
                try connection.rows("SELECT * FROM \(table) ORDER BY 1, 2").map { row in
                    table + ": "
                        + zip(row.names, row.values).map { "\($0.0)=\($0.1)" }.joined(separator: " ")
                }
            }
        }
    }
}

/// What an operation threw, by its code; "ok" when it did not.
func reason(_ work: () async throws -> Void) async -> String {
    do {
        try await work()
        return "ok"
    } catch let failure as Failure {
        return failure.code.rawValue
    } catch {
        return "\(error)"
    }
}
