import AppleID
import Coding
import Crypto
import HTTP
import HTTPTypes
import IndependentSigning
import LogRecording
import Logging
import Storage
import Synchronization
import Testing

@testable import Accounts

/// Two keys at Apple, one of them unknown there: requests by it are `invalid_client`, and the other is tried once.
struct TwoKeysTests {
    private static let web = ClientID(Apple.servicesID)
    private static let app = ClientID(Apple.bundleID)
    private static let ids = (current: "KEY1234567", next: "NEXT123456")

    private let apple = KeyedApple()
    private let clock = TestClock()
    private let recorder = LogRecorder()
    private let signer = IndependentSigner.shared
    private let provider: AppleIdentityProvider

    init() throws { provider = try Self.provider(apple, testRuntime(clock, recorder.logger)) }

    private static func configuration(
        _ current: String, next: (id: String, pem: String)?
    ) throws -> AppleConfiguration {
        try Apple.configuration { settings in
            settings.key.pem = Secret(current)
            settings.scopes = []
            guard let next else { return }
            var key = AppleSettings.Key()
            (key.id, key.pem) = (next.id, Secret(next.pem))
            settings.nextKey = key
        }
    }

    private static func provider(
        _ apple: KeyedApple, _ runtime: Runtime, hasNext: Bool = true
    ) throws -> AppleIdentityProvider {
        let signer = IndependentSigner.shared
        let configuration = try configuration(
            try signer.makeP256Key("two current"),
            next: hasNext ? (ids.next, try signer.makeP256Key("two next")) : nil)
        return AppleIdentityProvider(
            configuration: configuration, transport: apple, archive: MemoryArchive(), runtime: runtime)
    }

    private func revoke(_ provider: AppleIdentityProvider, as client: ClientID = web) async -> String {
        do throws(TokenFailure) {
            try await provider.revoke(RefreshToken("r3fresh"), clientID: client)
            return "done"
        } catch {
            return error.reason
        }
    }

    @Test func onlyTheCurrentKeyIsTried() async throws {
        for _ in 0..<3 { #expect(await revoke(provider) == "done") }
        #expect(apple.kids == Array(repeating: Self.ids.current, count: 3))
        #expect(recorder.lines.isEmpty)
    }

    @Test func theOtherKeyIsTriedOnceAndRemembered() async throws {
        apple.refuse([Self.ids.current])
        for _ in 0..<3 { #expect(await revoke(provider) == "done") }
        #expect(apple.kids == [Self.ids.current, Self.ids.next, Self.ids.next, Self.ids.next])
        // The same request but for its secret.
        let forms = apple.forms.map { form in form.filter { $0.name != "client_secret" } }
        #expect(forms[0].count == 3 && forms[0] == forms[1])
        // Said once, with both IDs and no secret.
        #expect(recorder.lines.count == 1)
        let line = try #require(recorder.lines.first)
        #expect(line.hasPrefix("warning Apple rejected one client key and accepted the other"))
        #expect(line.contains(Self.ids.current) && line.contains(Self.ids.next) && !line.contains("eyJ"))
    }

    @Test func whatAppleSaidOfEachKeyIsRemembered() async throws {
        #expect(provider.secrets.experiences.isEmpty)
        apple.refuse([Self.ids.current])
        #expect(await revoke(provider) == "done")
        let known = provider.secrets.experiences
        #expect(known.map(\.keyID) == [Self.ids.current, Self.ids.next] && known.allSatisfy { $0.client == Self.web })
        #expect(known.map(\.acceptedAt) == [nil, clock.now()] && known.map(\.refusedAt) == [clock.now(), nil])
        #expect(await revoke(provider, as: Self.app) == "done")
        #expect(provider.secrets.experiences.count == 4)
    }

    /// Back as well, when the operator revoked the wrong one and made it good again.
    @Test func switchingBackWorksLikewise() async throws {
        apple.refuse([Self.ids.current])
        #expect(await revoke(provider) == "done")
        apple.refuse([Self.ids.next])
        #expect(await revoke(provider) == "done")
        #expect(await revoke(provider) == "done")
        #expect(
            apple.kids == [
                Self.ids.current, Self.ids.next, Self.ids.next, Self.ids.current, Self.ids.current,
            ])
    }

    @Test func whenBothAreRefusedNothingIsRemembered() async throws {
        apple.refuse([Self.ids.current, Self.ids.next])
        #expect(await revoke(provider) == "client_refused")
        #expect(await revoke(provider) == "client_refused")
        #expect(apple.kids == [Self.ids.current, Self.ids.next, Self.ids.current, Self.ids.next])
        #expect(recorder.lines.isEmpty)
    }

    @Test func withOneKeyNothingIsTriedTwice() async throws {
        let provider = try Self.provider(apple, testRuntime(clock, recorder.logger), hasNext: false)
        apple.refuse([Self.ids.current])
        #expect(await revoke(provider) == "client_refused")
        #expect(apple.kids == [Self.ids.current])
    }

    /// A key belongs to a primary App ID: what holds for one client says nothing of another.
    @Test func eachClientHasItsOwnMemory() async throws {
        apple.refuse([Self.ids.current], of: Self.web)
        #expect(await revoke(provider, as: Self.web) == "done")
        #expect(await revoke(provider, as: Self.app) == "done")
        #expect(await revoke(provider, as: Self.web) == "done")
        #expect(apple.kids == [Self.ids.current, Self.ids.next, Self.ids.current, Self.ids.next])
    }

    @Test func theExchangeHasTheSameSecondTry() async throws {
        apple.refuse([Self.ids.current])
        let claims = IdentityClaims(
            issuer: "https://appleid.apple.com", clientID: Self.web, subject: AppleSubject(Apple.subject),
            issuedAt: TestClock.start.wholeSeconds)
        // The second try is answered with 200 and no identity token: Apple knew the key, whatever else is wrong.
        await #expect(throws: Failure(.providerUnavailable, "token endpoint: no id_token", mayHaveSpentCode: true)) {
            try await provider.exchange(authorizationCode: "c0de", nonce: "n0nce", claims: claims)
        }
        #expect(apple.kids == [Self.ids.current, Self.ids.next])
        #expect(try provider.secrets.secret(for: Self.web).reveal() == apple.secrets.last)
    }

    @Test(arguments: [
        (400, "application/json", #"{"error":"invalid_grant"}"#),
        (400, "application/json", #"{"error":"invalid_request"}"#),
        (400, "application/json", #"{"error":"unauthorized_client"}"#),
        (400, "application/json", #"{"error":"Invalid_Client"}"#),
        (400, "application/json", #"{"error":["invalid_client"]}"#),
        (400, "text/html", #"{"error":"invalid_client"}"#),
        (400, "application/json", "<html>invalid_client</html>"),
        (500, "application/json", #"{"error":"invalid_client"}"#),
        (200, "application/json", #"{"error":"invalid_client"}"#),
        (429, "application/json", #"{"error":"invalid_client"}"#),
    ])
    func onlyInvalidClientTriesTheOtherKey(status: Int, type: String, body: String) async throws {
        apple.answer(Self.ids.current, status: status, type: type, body)
        _ = await revoke(provider)
        #expect(apple.kids == [Self.ids.current])
    }

    /// Apple may say it with 401 too (RFC 6749 §5.2).
    @Test(arguments: [400, 401, 403]) func invalidClientMayComeWithAnyRefusal(status: Int) async throws {
        apple.answer(
            Self.ids.current, status: status, type: "application/json;charset=UTF-8", #"{"error":"invalid_client"}"#)
        #expect(await revoke(provider) == "done")
        #expect(apple.kids == [Self.ids.current, Self.ids.next])
    }

    /// Nobody knows then whether Apple knows us: no refusal, which would stop the daily checks, and nothing learnt.
    @Test func lostSecondTryCountsAsUnavailable() async throws {
        apple.refuse([Self.ids.current])
        apple.answer(Self.ids.next, status: 503, type: "text/html", "<html></html>")
        #expect(await revoke(provider) == "provider_unavailable")
        apple.drop(Self.ids.next)
        #expect(await revoke(provider) == "provider_unavailable")
        #expect(apple.kids == [Self.ids.current, Self.ids.next, Self.ids.current, Self.ids.next])
    }

    /// Another refusal is about what was asked: the key was good, and the next request begins with it.
    @Test func aSecondRefusalOfAnotherKindShowsThatTheKeyIsGood() async throws {
        apple.refuse([Self.ids.current])
        apple.answer(Self.ids.next, status: 400, type: "application/json", #"{"error":"invalid_grant"}"#)
        #expect(await revoke(provider) == "client_refused")
        _ = await revoke(provider)
        #expect(apple.kids == [Self.ids.current, Self.ids.next, Self.ids.next])
    }

    @Test func hundredConcurrentRequestsSucceed() async throws {
        apple.refuse([Self.ids.current])
        let results = await withTaskGroup(of: String.self) { group in
            for _ in 0..<100 { group.addTask { await revoke(provider) } }
            return await group.reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(results == ["done": 100])
        #expect(apple.kids.count <= 200)
        #expect(recorder.lines.count == 1)
    }

    @Test func newKeysResetTheChoice() async throws {
        apple.refuse([Self.ids.current])
        #expect(await revoke(provider) == "done")
        apple.refuse([])
        var keys = provider.secrets.keys
        keys.current = ClientSecretKey(
            id: Self.ids.current, key: try P256PrivateKey(pem: signer.makeP256Key("two replaced")))
        #expect(provider.secrets.replaceKeys(keys))
        #expect(await revoke(provider) == "done")
        #expect(apple.kids.suffix(1) == [Self.ids.current])
        _ = try signer.verifyClientSecret(try #require(apple.secrets.last), key: "two replaced")
    }

    /// The request is under way with the old key while the operator brings the right one.
    @Test func aKeyReplacedWhileAppleAnswersIsTheOneThatIsTried() async throws {
        let provider = try Self.provider(apple, testRuntime(clock, recorder.logger), hasNext: false)
        let secrets = provider.secrets
        let new = try P256PrivateKey(pem: signer.makeP256Key("two brought"))
        apple.refuse([Self.ids.current])
        apple.onFirstRequest { [apple] in
            apple.refuse([])
            apple.answer(
                Self.ids.current, status: 400, type: "application/json", #"{"error":"invalid_client"}"#, times: 1)
            secrets.replaceKeys(ClientSecretKeys(current: ClientSecretKey(id: Self.ids.current, key: new)))
        }
        #expect(await revoke(provider) == "done")
        #expect(apple.kids == [Self.ids.current, Self.ids.current])
        _ = try signer.verifyClientSecret(try #require(apple.secrets.last), key: "two brought")
    }

    @Test(arguments: [true, false]) func oneKeyUnderTwoNamesIsRefused(sameID: Bool) throws {
        let pem = try signer.makeP256Key("two alike")
        let other = try signer.makeP256Key("two other")
        #expect(throws: AppleConfigurationError.self) {
            try Self.configuration(
                pem, next: (sameID ? Self.ids.current : Self.ids.next, sameID ? other : pem))
        }
    }
}

/// Apple, to whom some keys are unknown. Answers `/auth/revoke` with 200 and nothing, `/auth/token` with an empty object.
private final class KeyedApple: HTTPTransport {
    private struct Answer {
        var result: Result<ClientResponse, HTTPClientError>
        var times = Int.max
    }

    private struct State {
        var answers: [String: Answer] = [:]
        var refused: [(kids: Set<String>, client: ClientID?)] = []
        var forms: [[FormField]] = []
        var onFirst: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// The keys that are unknown from now on; to one client, or to all.
    func refuse(_ kids: Set<String>, of client: ClientID? = nil) { state.withLock { $0.refused = [(kids, client)] } }

    func answer(_ kid: String, status: Int, type: String, _ body: String, times: Int = .max) {
        var response = ClientResponse(status: .init(code: status), body: Array(body.utf8))
        response.fields[.contentType] = type
        state.withLock { $0.answers[kid] = Answer(result: .success(response), times: times) }
    }

    func drop(_ kid: String) { state.withLock { $0.answers[kid] = Answer(result: .failure(.closed)) } }
    func onFirstRequest(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.onFirst = action } }

    var forms: [[FormField]] { state.withLock(\.forms) }
    var secrets: [String] { forms.compactMap { form in form.first { $0.name == "client_secret" }?.value } }
    var kids: [String] { secrets.map(Self.kid) }

    private static func kid(of secret: String) -> String {
        let header = Base64URL.decode(String(secret.prefix { $0 != "." }))
        return header.flatMap { try? JSONReader.parse($0).objectValue?["kid"]?.stringValue } ?? ""
    }

    func send(_ request: ClientRequest) async throws(HTTPClientError) -> ClientResponse {
        guard let form = try? FormDecoder.parse(request.body),
            let secret = form.first(where: { $0.name == "client_secret" })?.value,
            let client = form.first(where: { $0.name == "client_id" })?.value
        else { throw .closed }
        await Task.yield()
        let action = state.withLock { state in
            state.forms.append(form)
            defer { state.onFirst = nil }
            return state.onFirst
        }
        action?()
        let kid = Self.kid(of: secret)
        let answer = state.withLock { state -> Result<ClientResponse, HTTPClientError>? in
            guard var answer = state.answers[kid], answer.times > 0 else { return nil }
            answer.times -= 1
            state.answers[kid] = answer
            return answer.result
        }
        if let answer { return try answer.get() }
        let isRefused = state.withLock { state in
            state.refused.contains { $0.kids.contains(kid) && ($0.client == nil || $0.client?.rawValue == client) }
        }
        if isRefused {
            var response = ClientResponse(status: .badRequest, body: Array(#"{"error":"invalid_client"}"#.utf8))
            response.fields[.contentType] = "application/json;charset=ISO-8859-1"
            return response
        }
        guard request.url.target == "/auth/token" else { return ClientResponse(status: .ok) }
        var response = ClientResponse(status: .ok, body: Array("{}".utf8))
        response.fields[.contentType] = "application/json"
        return response
    }
}
