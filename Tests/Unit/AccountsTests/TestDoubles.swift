import Coding
import Crypto
import Gates
import LogRecording
import Storage
import Stores
import Synchronization

@testable import Accounts

/// A plain Apple with set answers.
final class FakeApple: IdentityProvider {
    struct Behaviour {
        var verifyFailure: Failure?
        var exchangeFailure: Failure?
        var notificationResult: Result<VerifiedNotification, Failure>?
        var parsed = 0
        var verified = 0
        var exchanged: [String] = []
    }

    let bundleIDs = [ClientID("com.example.app"), ClientID("com.example.other")]
    let clock: ManualClock
    /// Passed by every exchange.
    let gate = Gate()
    private let behaviour = Mutex(Behaviour())

    init(clock: ManualClock) { self.clock = clock }

    func set(_ change: (inout Behaviour) -> Void) { behaviour.withLock { change(&$0) } }
    var exchangedCodes: [String] { behaviour.withLock { $0.exchanged } }
    var parsedForms: Int { behaviour.withLock { $0.parsed } }
    var verifications: Int { behaviour.withLock { $0.verified } }

    func authorizeURL(state: String, nonce: String) -> String { "https://apple.test/?state=\(state)&nonce=\(nonce)" }

    func parseCallback(_ body: [UInt8]) throws(Failure) -> CallbackForm {
        behaviour.withLock { $0.parsed += 1 }
        return try PlainApple.parse(body)
    }

    func claimedSubject(of identityToken: String) -> AppleSubject? {
        PlainApple.claimedSubject(of: identityToken)
    }

    func verify(
        identityToken: String, authorizationCode: String, nonce: String, clientIDs: [ClientID]
    ) async throws(Failure) -> IdentityClaims {
        if let failure = behaviour.withLock({ behaviour in
            behaviour.verified += 1
            return behaviour.verifyFailure
        }) {
            throw failure
        }
        return try PlainApple.verify(
            identityToken, code: authorizationCode, nonce: nonce, client: clientIDs[0], at: clock.now())
    }

    func redeem(
        authorizationCode: String, nonce: String?, clientID: ClientID
    ) async throws(Failure) -> VerifiedIdentity {
        try await redeem(authorizationCode, "ann", clientID)
    }

    func exchange(
        authorizationCode: String, nonce: String, claims: IdentityClaims
    ) async throws(Failure) -> VerifiedIdentity {
        try await redeem(authorizationCode, claims.subject.rawValue, claims.clientID)
    }

    private func redeem(
        _ code: String, _ subject: String, _ client: ClientID
    ) async throws(Failure) -> VerifiedIdentity {
        await gate.pass()
        let failure = behaviour.withLock { behaviour in
            behaviour.exchanged.append(code)
            return behaviour.exchangeFailure
        }
        if let failure { throw failure }
        return VerifiedIdentity(
            claims: PlainApple.claims(subject, client, at: clock.now()), refreshToken: RefreshToken("r.secret"))
    }

    func verifyNotification(_ body: [UInt8]) async throws(Failure) -> VerifiedNotification {
        guard let result = behaviour.withLock({ $0.notificationResult }) else {
            throw Failure(.notificationRefused, "none")
        }
        return try result.get()
    }
}

struct FixedRandom: RandomSource {
    var byte: UInt8
    func bytes(_ count: Int) -> [UInt8] { [UInt8](repeating: byte, count: count) }
}

/// Everything a sign-in needs: the real database, and an Apple with set answers.
struct SignInBench {
    let clock: ManualClock
    let apple: FakeApple
    let database: TestDatabase
    let signIn: SignIn
    let key: SealingKey
    let keyring: SealingKeyring
    let targets = ReturnTargets(
        publicURL: "https://id.example.com", allowedOrigins: ["https://app.example.com"], defaultTarget: "/account")
    let browser = BrowserBinding.make(random: SystemRandom())

    private static let limits = SessionLimits(lifetime: 86_400, idleTimeout: 3_600)

    var store: Database { database.store }

    init(policy: SignUpPolicy = .open, nativeNonceIsRaw: Bool = false, log: LogRecorder = LogRecorder()) {
        clock = ManualClock()
        apple = FakeApple(clock: clock)
        database = TestDatabase(limits: Self.limits, clock: clock)
        key = .generate()
        keyring = SealingKeyring(current: key, previous: [])
        var configuration = SignInConfiguration(signUp: policy)
        configuration.nativeNonceIsRaw = nativeNonceIsRaw
        signIn = SignIn(
            provider: apple, database: database.store, keyring: keyring,
            configuration: configuration, returnTargets: targets,
            runtime: Runtime(clock: clock, random: SystemRandom(), logger: log.logger))
    }

    /// Another process over what the first one has stored.
    /// - Parameter apple: its answers, if different from the first one's.
    init(after first: SignInBench, keyring: SealingKeyring?, apple: FakeApple? = nil) {
        (clock, database, key) = (first.clock, first.database, first.key)
        self.apple = apple ?? first.apple
        self.keyring = keyring ?? first.keyring
        signIn = SignIn(
            provider: self.apple, database: database.store, keyring: self.keyring,
            configuration: SignInConfiguration(signUp: .open), returnTargets: targets,
            runtime: Runtime(clock: clock, random: SystemRandom(), logger: LogRecorder().logger))
    }

    func begin(
        browser: BrowserBinding? = nil, returnTo: String = "/notes", replacing: SessionID? = nil
    ) -> Attempt {
        let target = targets.validate(returnTo) ?? targets.defaultTarget
        return signIn.begin(binding: browser ?? self.browser, returnTo: target, replacing: replacing)
    }

    /// What Apple's page posts for this attempt.
    func form(
        _ attempt: Attempt, subject: String = "ann", code: String = "code-1", nonce: String? = nil,
        user: String? = nil, repost: Bool = false
    ) -> [UInt8] {
        var fields = [
            ("state", attempt.state), ("code", code), ("id_token", "\(subject)|\(nonce ?? attempt.nonce)|\(code)"),
        ]
        if let user { fields.append(("user", user)) }
        if repost { fields.append(("repost", "1")) }
        return FormEncoder.encode(fields)
    }

    func receive(_ body: [UInt8], binding: BindingCookie? = nil) -> ReceivedCallback {
        signIn.receive(body, binding: binding ?? .value(browser))
    }

    func post(
        _ body: [UInt8], binding: BindingCookie? = nil, sameOrigin: Bool = false, keptName: String? = nil
    ) async -> SignInOutcome {
        await signIn.complete(
            receive(body, binding: binding), sameOrigin: sameOrigin,
            device: Device(userAgent: "Test", address: "127.0.0.1"), keptName: keptName)
    }
}

extension SignInOutcome {
    var failure: Failure? {
        if case .failed(let failure, _, _) = self { failure } else { nil }
    }
    var token: SessionToken? {
        if case .signedIn(let token, _, _) = self { token } else { nil }
    }
    var session: Session? {
        if case .signedIn(_, let session, _) = self { session } else { nil }
    }
    /// The case's name, for tables.
    var name: String {
        switch self {
        case .signedIn: "signedIn"
        case .alreadySignedIn: "alreadySignedIn"
        case .repost: "repost"
        case .refused(let refusal, _): refusal.rawValue
        case .failed(let failure, _, _): failure.code.rawValue
        case .cancelled: "cancelled to the application"
        case .linkAuthorized: "linkAuthorized"
        case .asksExisting: "asksExisting"
        }
    }
}
