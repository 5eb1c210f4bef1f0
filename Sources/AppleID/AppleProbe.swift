package import Accounts
package import Coding
import Crypto
package import HTTP
import HTTPTypes
import Logging
import Storage

/// Asks Apple's endpoints what an operator wants to know before visitors do. Stores nothing, and uses nobody's code or
/// token.
package struct AppleProbe: Sendable {
    /// A code that was never issued.
    private static let dummyCode = "bramley-doctor-no-code"

    private let configuration: AppleConfiguration
    private let client: AppleEndpointClient
    private let runtime: Runtime

    package init(configuration: AppleConfiguration, transport: any HTTPTransport, clock: any WallClock) {
        self.configuration = configuration
        runtime = Runtime(
            clock: clock, random: SystemRandom(),
            logger: Logger(label: "probe", factory: { _ in SwiftLogNoOpLogHandler() }))
        client = AppleEndpointClient(
            transport: transport, endpoint: configuration.endpoint, userAgent: configuration.userAgent)
    }

    /// The keys whose client secrets Apple is asked about.
    package var keyIDs: [String] { keys.map(\.id) }

    private var keys: [ClientSecretKey] {
        [configuration.signingKeys.current, configuration.signingKeys.next].compactMap(\.self)
    }

    /// Fetches the key set once.
    package func keySet() async -> KeySetProbe {
        let asked = runtime.clock.now()
        let response: ClientResponse
        do throws(HTTPClientError) {
            response = try await client.get("/auth/keys")
        } catch {
            switch error {
            // Something answers, but not like Apple.
            case .tooLarge, .malformed: return KeySetProbe(outcome: .unusable("\(error)"), offset: nil)
            case .unknownHost, .inside, .connect, .tls, .timeout, .closed, .proxy:
                return KeySetProbe(outcome: .unreachable(error), offset: nil)
            }
        }
        let offset = ClockOffset(date: response.fields[.date], asked: asked, answered: runtime.clock.now())
        do throws(Failure) {
            let keys = try AppleKeySet.parse(try response.keySet())
            return KeySetProbe(outcome: .usable(keys: keys.rs256Keys.count), offset: offset)
        } catch {
            return KeySetProbe(outcome: .unusable("\(error)"), offset: offset)
        }
    }

    /// Redeems a code that does not exist, as one of our clients, with a secret of one key.
    /// - Parameter keyID: one of `keyIDs`.
    package func answer(to clientID: ClientID, keyID: String) async -> ClientProbe {
        guard let key = keys.first(where: { $0.id == keyID }) else { return .unsigned("there is no key \(keyID)") }
        // With only this key, so that the other one does not answer for it.
        var ofKey = configuration
        ofKey.signingKeys = ClientSecretKeys(current: key)
        let tokens = TokenClient(client: client, secrets: ClientSecretMint(ofKey, runtime))
        var form = [("code", Self.dummyCode), ("grant_type", "authorization_code")]
        if clientID == configuration.servicesID { form.append(("redirect_uri", configuration.redirectURI)) }
        do throws(TokenClientFailure) {
            let answer = ClientProbe(try await tokens.post("/auth/token", as: clientID, form: form))
            guard case .codeRefused = answer else { return answer }
            return try await authentication(of: clientID, tokens) ?? answer
        } catch {
            switch error {
            case .secret(let error): return .unsigned("\(error)")
            case .transport(let error): return .unreachable(error)
            }
        }
    }

    /// Asks for an access token of the scope `user.migration` (TN3159), which names no person and is dropped: this
    /// request has no code that Apple could examine before the client and its key.
    /// - Returns: nil when the answer says nothing about them.
    private func authentication(
        of clientID: ClientID, _ tokens: TokenClient
    ) async throws(TokenClientFailure) -> ClientProbe? {
        let response = try await tokens.post("/auth/token", as: clientID, form: AccessToken.form)
        if response.status.code == 200 { return .accepted }
        guard let refusal = response.tokenEndpointRefusal, refusal.error.isExactly("invalid_client") else { return nil }
        return .clientRefused(refusal.text)
    }
}

/// The result of asking for Apple's keys.
package struct KeySetProbe: Hashable, Sendable {
    package enum Outcome: Hashable, Sendable {
        case usable(keys: Int)
        /// An answer without a key set, too large, or not HTTP.
        case unusable(String)
        case unreachable(HTTPClientError)
    }

    package var outcome: Outcome
    /// Nil without a readable answer, or without a readable `Date`.
    package var offset: ClockOffset?
}

/// How far this machine's clock is ahead of a server's, by that server's `Date` (RFC 9110 §6.6.1).
package struct ClockOffset: Hashable, Sendable {
    /// Positive when ours is ahead.
    package let milliseconds: Int64
    /// The largest possible error: half the round trip, and half of the second that `Date` is rounded to.
    package let uncertainty: Int64

    init?(date: String?, asked: Timestamp, answered: Timestamp) {
        guard let date, answered >= asked, let seconds = HTTPDate.parse(date, now: answered.seconds) else { return nil }
        let roundTrip = answered.milliseconds - asked.milliseconds
        milliseconds = asked.milliseconds + roundTrip / 2 - (seconds * 1000 + 500)
        uncertainty = roundTrip / 2 + 500
    }

    /// Whether the clocks certainly differ by more than this.
    package func certainlyExceeds(milliseconds limit: Int64) -> Bool {
        abs(milliseconds) - uncertainty > limit
    }
}

/// The token endpoint's answer for a client and a code that does not exist. Texts are Apple's, safe for a log.
package enum ClientProbe: Hashable, Sendable {
    /// Apple took the client and the key.
    case accepted
    /// The code was refused. Apple examines it before the client, so this says nothing about the client.
    case codeRefused(String)
    /// `invalid_client` or `unauthorized_client`.
    case clientRefused(String)
    /// Another error of RFC 6749 §5.2.
    case otherRefusal(String)
    /// An answer outside the protocol; also a success.
    case noAnswer(String)
    case unreachable(HTTPClientError)
    /// The key could not sign.
    case unsigned(String)

    init(_ response: ClientResponse) {
        let status = response.status.code
        guard response.isRefusalStatus else {
            self = .noAnswer("status \(status)")
            return
        }
        guard let refusal = response.tokenEndpointRefusal else {
            self = .noAnswer("status \(status) without an error of the protocol")
            return
        }
        switch refusal.error {
        case "invalid_grant": self = .codeRefused(refusal.text)
        case "invalid_client", "unauthorized_client": self = .clientRefused(refusal.text)
        default: self = .otherRefusal(refusal.text)
        }
    }
}
