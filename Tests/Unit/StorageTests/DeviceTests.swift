import Coding
import Crypto
import Storage
import Stores
import Testing

@testable import Accounts

/// The device authorization grant (RFC 8628) over the real database, with a clock that can be set. What devices and
/// browsers see is in Tests/System/OpenID/test_device.py.
@Suite struct DeviceTests {
    private static let address = "203.0.113.5"

    private let bench: Bench
    private let database: Accounts.Database
    private let provider: OpenIDProvider
    private let terminal: OpenIDClient
    private var now: Timestamp { bench.clock.now() }

    init() async throws {
        (bench, database) = try Bench().opened()
        provider = bench.provider(database)
        let start = bench.clock.now()
        func client(_ id: String, device: Bool, redirectURIs: [String] = []) -> OpenIDClient {
            var client = OpenIDClient(new: OpenIDClientID(unchecked: id), at: start)
            client.redirectURIs = redirectURIs
            client.scopes = OpenIDScope.identity
            client.allowsDevice = device
            return client
        }
        let made = [
            client("terminal", device: true), client("other", device: true),
            client("site", device: false, redirectURIs: ["https://site.example.com/"]),
        ]
        let saved = try await database.changeOpenIDClients(at: start) { _ in made }
        terminal = try #require(saved.first { $0.id.rawValue == "terminal" })
    }

    private typealias Begun = (code: GrantedDeviceCode, userCode: DeviceUserCode)

    private func request(_ client: OpenIDClient, _ pairs: [(String, String)]) throws -> ProviderRequest {
        try ProviderRequest(
            (pairs + [("client_id", client.id.rawValue)]).map { FormField(name: $0, value: $1) }, authorization: [])
    }

    private func begin(
        _ client: OpenIDClient? = nil, _ pairs: [(String, String)] = [("scope", "openid email")]
    ) async throws -> Begun {
        let client = client ?? terminal
        return try await provider.beginDevice(
            request(client, pairs), of: client, on: Device(userAgent: "curl/8.5.0", address: Self.address))
    }

    private func client(_ id: String) async throws -> OpenIDClient {
        try #require(try await database.openIDClient(OpenIDClientID(unchecked: id)))
    }

    private func poll(
        _ code: GrantedDeviceCode, _ client: OpenIDClient? = nil
    ) async throws -> OpenIDProvider.TokenAnswer {
        let client = client ?? terminal
        let fields = [("grant_type", TokenRequest.deviceGrant), ("device_code", code.reveal())]
        return try await provider.tokens(for: request(client, fields), of: client)
    }

    /// The error of a poll; nil for tokens.
    private func refusal(_ code: GrantedDeviceCode, _ client: OpenIDClient? = nil) async -> ProviderError.Code? {
        await error { _ = try await poll(code, client) }
    }

    private func error(_ body: () async throws -> Void) async -> ProviderError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? Failure)?.oauth?.code
        }
    }

    private func signIn(_ subject: String = "ann") async throws -> SignedIn {
        try await database.signIn(subject, at: now)
    }

    private func decide(
        _ text: String, _ signedIn: SignedIn, allows: Bool? = nil, ticket: String? = nil,
        at address: String = "192.0.2.1"
    ) async throws -> DeviceAnswer {
        try await provider.decideDevice(text, allows: allows, ticket: ticket, signedIn, at: address)
    }

    private func ticket(_ begun: Begun, _ signedIn: SignedIn) async throws -> String {
        guard case .ask(_, _, _, let ticket) = try await decide(begun.userCode.text, signedIn) else {
            throw StoreError.inconsistent("not asked")
        }
        return ticket
    }

    /// Whether the decision was recorded.
    private func decide(_ begun: Begun, _ signedIn: SignedIn, allows: Bool = true) async throws -> Bool {
        let answer = try await decide(
            begun.userCode.text, signedIn, allows: allows, ticket: ticket(begun, signedIn))
        switch answer {
        case .allowed: return allows
        case .denied: return !allows
        default: return false
        }
    }

    @Test(
        "A code is read however a person writes it",
        arguments: [
            ("WDJB-MJHT", true), ("wdjbmjht", true), (" wdjb – mjht ", true), ("WD JB-MJ-HT", true),
            ("WDJB-MJH", false), ("WDJB-MJHTT", false), ("WDJB-MJHA", false), ("WDJB_MJHT", false), ("", false),
            ("ＷDJB-MJHT", false), ("WDJB-MJH\u{212A}", false), (String(repeating: "-", count: 60) + "WDJBMJHT", false),
        ])
    func userCode(text: String, isRead: Bool) {
        #expect(DeviceUserCode(parsing: text)?.text == (isRead ? "WDJB-MJHT" : nil))
    }

    @Test("Codes are eight of the twenty consonants, and all of them occur")
    func userCodes() {
        let codes = (0..<500).map { _ in DeviceUserCode.make(random: SystemRandom()).text }
        #expect(codes.allSatisfy { DeviceUserCode(parsing: $0)?.text == $0 && $0.count == 9 })
        #expect(Set(codes).count == codes.count)
        #expect(Set(codes.joined()) == Set(DeviceUserCode.alphabet + "-"))
    }

    @Test("A device waits, is allowed, and gets tokens of the session in which it was allowed, once")
    func wholeWay() async throws {
        let begun = try await begin(nil, [("scope", "openid offline_access unheard_of")])
        #expect(await refusal(begun.code) == .authorizationPending)
        let ann = try await signIn()
        #expect(try await decide(begun, ann))
        // Allowed: it need not wait any longer.
        let tokens = try await poll(begun.code)
        #expect(tokens.scopes == [.openid, .offlineAccess] && tokens.refresh != nil)
        let held = try #require(try await provider.grant(access: tokens.access.reveal()))
        #expect(held.user.id == ann.user.id && held.grant.session == ann.session.id)
        #expect(held.grant.authenticatedAt == ann.session.createdAt)
        // RFC 6749 §4.1.2, as of any other code: somebody else has it too.
        #expect(await refusal(begun.code) == .invalidGrant)
        #expect(try await provider.grant(access: tokens.access.reveal()) == nil)
    }

    @Test("A replay ends the tokens even when the request itself is long gone")
    func lateReplay() async throws {
        let begun = try await begin(nil, [("scope", "openid offline_access")])
        #expect(try await decide(begun, signIn()))
        let tokens = try await poll(begun.code)
        bench.clock.advance(seconds: 700)
        _ = try await database.maintain(at: now)
        #expect(try await provider.grant(access: tokens.access.reveal()) != nil)
        #expect(await refusal(begun.code) == .invalidGrant)
        #expect(try await provider.grant(access: tokens.access.reveal()) == nil)
    }

    @Test("Whoever polls too early is told to wait five seconds longer, each time, and that is kept")
    func slowDown() async throws {
        let begun = try await begin()
        #expect(await refusal(begun.code) == .authorizationPending)
        bench.clock.advance(seconds: 3)
        #expect(await refusal(begun.code) == .slowDown)
        // Ten seconds from now on; one early is forgiven.
        bench.clock.advance(seconds: 8)
        #expect(await refusal(begun.code) == .slowDown)
        bench.clock.advance(seconds: 14)
        #expect(await refusal(begun.code) == .authorizationPending)
        bench.clock.advance(seconds: 13)
        #expect(await refusal(begun.code) == .slowDown)
        bench.clock.advance(seconds: 20)
        #expect(await refusal(begun.code) == .authorizationPending)
    }

    @Test("Errors of a poll: denied, expired, of another client, unknown, withdrawn from the client")
    func refusals() async throws {
        let (denied, expired, theirs) = (try await begin(), try await begin(), try await begin())
        let ann = try await signIn()
        #expect(try await decide(denied, ann, allows: false))
        #expect(await refusal(denied.code) == .accessDenied)
        #expect(try await decide(theirs, ann))
        let other = try await client("other")
        #expect(await refusal(theirs.code, other) == .invalidGrant)
        #expect(await refusal(expired.code, other) == .invalidGrant)
        let forged = GrantedDeviceCode.make(expired.code.grant, secret: [UInt8](repeating: 7, count: 32))
        let unknown = GrantedDeviceCode.make(.make(at: now, random: SystemRandom()), secret: SystemRandom().bytes(32))
        #expect(await refusal(forged) == .invalidGrant)
        #expect(await refusal(unknown) == .invalidGrant)
        var narrowed = terminal
        narrowed.allowsDevice = false
        #expect(await refusal(theirs.code, narrowed) == .unauthorizedClient)
        #expect(await error { _ = try await begin(narrowed) } == .unauthorizedClient)
        bench.clock.advance(seconds: 600)
        #expect(await refusal(expired.code) == .expiredToken)
        // Too late.
        #expect(await refusal(theirs.code) == .invalidGrant)
        // Its row is deleted; the code says when it was made.
        _ = try await database.maintain(at: now)
        #expect(await refusal(expired.code) == .expiredToken)
    }

    @Test("A request needs openid or a service, which must be known")
    func scopes() async throws {
        let cases: [([(String, String)], ProviderError.Code)] = [
            ([("scope", "email")], .invalidScope),
            ([("scope", "openid"), ("resource", "https://api.example.com/")], .invalidTarget),
        ]
        for (fields, code) in cases { #expect(await error { _ = try await begin(nil, fields) } == code) }
        // Without any, the least.
        let bare = try await begin(nil, [])
        #expect(try await decide(bare, signIn()))
        #expect(try await poll(bare.code).scopes == [.openid])
        let site = try await client("site")
        #expect(await error { _ = try await begin(site) } == .unauthorizedClient)
    }

    @Test("A service that is deleted before the decision, or registered again, cannot be allowed")
    func deletedService() async throws {
        let services = Services(database, isLocal: false, random: SystemRandom())
        let (id, uri) = (OpenIDClientID(unchecked: "notes"), "https://api.example.com/notes")
        _ = try await services.change(id, uri: uri, at: now) { _, _ in }
        let begun = try await begin(nil, [("scope", "openid"), ("resource", uri)])
        let ann = try await signIn()
        let ticket = try await ticket(begun, ann)
        for isAgain in [false, true] {
            bench.clock.advance(seconds: 1)
            if isAgain {
                _ = try await services.change(id, uri: uri, at: now) { _, _ in }
            } else {
                _ = try await services.delete(id, at: now)
            }
            guard case .unknown = try await decide(begun.userCode.text, ann, allows: true, ticket: ticket) else {
                throw Unexpected("allowed")
            }
        }
        bench.clock.advance(seconds: 10)
        #expect(await refusal(begun.code) == .authorizationPending)
    }

    @Test("Between the approval and the poll, whatever ends the session or the right ends the code")
    func withdrawn() async throws {
        let ends: [(SignedIn) async throws -> Void] = [
            { _ = try await database.endSession($0.session.id, cause: .signOut, at: now) },
            { _ = try await database.patchUser($0.user.id, UserPatch(state: .disabled), at: now) },
            { _ in try await database.changeClients(at: now) { $0.groups = ["staff"] } },
        ]
        for (index, end) in ends.enumerated() {
            let begun = try await begin()
            let signedIn = try await signIn("person \(index)")
            #expect(try await decide(begun, signedIn))
            try await end(signedIn)
            #expect(await refusal(begun.code) == .invalidGrant, "\(index)")
        }
    }

    @Test("Who may not use the client is not asked")
    func notAdmitted() async throws {
        let begun = try await begin()
        let ticket = try await ticket(begun, signIn())
        try await database.changeClients(at: now) { $0.groups = ["staff"] }
        for allows in [nil, true] {
            do {
                _ = try await decide(begun.userCode.text, signIn(), allows: allows, ticket: ticket)
                Issue.record("asked")
            } catch let failure as Failure {
                #expect(failure.code == .openIDNotAllowed)
            }
        }
        #expect(await refusal(begun.code) == .authorizationPending)
    }

    @Test("A decision needs the ticket of this request and session, is taken once, and may be pressed twice")
    func tickets() async throws {
        let (begun, other) = (try await begin(), try await begin())
        let (ann, bob) = (try await signIn("ann"), try await signIn("bob"))
        let own = try await ticket(begun, ann)
        let bobs = try await ticket(begun, bob)
        for forged in [nil, "", String(own.dropLast(2)), bobs, try await ticket(other, ann)] {
            guard case .ask = try await decide(begun.userCode.text, ann, allows: true, ticket: forged) else {
                throw Unexpected("\(forged ?? "none")")
            }
        }
        for _ in 0..<2 {
            guard case .allowed = try await decide(begun.userCode.text, ann, allows: true, ticket: own) else {
                throw Unexpected("not allowed")
            }
        }
        // Nobody else takes it over, and a refusal comes too late.
        guard case .unknown = try await decide(begun.userCode.text, bob, allows: true, ticket: bobs),
            case .allowed = try await decide(begun.userCode.text, ann, allows: false, ticket: own)
        else { throw Unexpected("decided twice") }
        #expect(try await provider.grant(access: poll(begun.code).access.reveal())?.user.id == ann.user.id)
        bench.clock.advance(seconds: 600)
        guard case .unknown = try await decide(other.userCode.text, ann) else {
            throw Unexpected("an expired code is known")
        }
    }

    @Test("Five wrong codes in ten minutes, of a person or from an address, and then even the right one is refused")
    func tries() async throws {
        let begun = try await begin()
        let (ann, bob) = (try await signIn("ann"), try await signIn("bob"))
        func wait(_ signedIn: SignedIn, _ address: String, _ text: String) async throws -> Int? {
            do {
                _ = try await decide(text, signedIn, at: address)
                return nil
            } catch let failure as Failure where failure.code == .tooManyRequests {
                return failure.retryAfter
            }
        }
        let wrong = "BBBB-BBBB"
        for _ in 0..<4 { #expect(try await wait(ann, "192.0.2.1", wrong) == nil) }
        // What is no code, and a right one, are no tries, and a right one forgives none.
        #expect(try await wait(ann, "192.0.2.1", "AAAA-AAAA") == nil)
        #expect(try await wait(ann, "192.0.2.1", begun.userCode.text) == nil)
        bench.clock.advance(seconds: 100)
        #expect(try await wait(ann, "192.0.2.2", wrong) == nil)
        #expect(try await wait(ann, "192.0.2.3", begun.userCode.text) == 600)
        // Another person at the first address has one try left.
        #expect(try await wait(bob, "192.0.2.1", wrong) == nil)
        #expect(try await wait(bob, "192.0.2.1", begun.userCode.text) == 600)
        #expect(try await wait(bob, "192.0.2.4", begun.userCode.text) == nil)
        // On another node: it is in the database.
        bench.clock.advance(seconds: 599)
        #expect(try await wait(ann, "192.0.2.3", begun.userCode.text) == 1)
        bench.clock.advance(seconds: 1)
        #expect(try await wait(ann, "192.0.2.3", wrong) == nil)
        bench.clock.advance(seconds: 600)
        _ = try await database.maintain(at: now)
        #expect(try await database.read { try $0.count("SELECT count(*) FROM openid_device_try") } == 0)
    }

    @Test("A thousand requests wait at most; expired ones make room, and a deleted client's go with it")
    func bound() async throws {
        for _ in 0..<DeviceLimits.requests { _ = try await begin() }
        #expect(await error { _ = try await begin() } == .temporarilyUnavailable)
        bench.clock.advance(seconds: 600)
        let begun = try await begin()
        func count() async throws -> Int {
            try await database.read { try $0.count("SELECT count(*) FROM openid_device") }
        }
        #expect(try await count() == 1)
        _ = try await database.changeOpenIDClients(at: now) { _ in [] }
        #expect(try await count() == 0)
        #expect(await refusal(begun.code) == .invalidGrant)
    }

    @Test("A client for devices needs no redirect URI")
    func rules() {
        var client = OpenIDClient(new: OpenIDClientID(unchecked: "tv"), at: Timestamp(milliseconds: 0))
        #expect(!client.problems(audiences: []).isEmpty)
        client.allowsDevice = true
        #expect(client.problems(audiences: []).isEmpty)
    }
}
