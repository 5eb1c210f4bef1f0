package import Accounts
package import Coding
import Crypto
package import HTTP
import HTTPTypes
import Logging
import Storage

/// Checks Apple's endpoints and our credentials there. Stores nothing, and uses nobody's token.
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

    package var keyIDs: [String] { configuration.signingKeys.all.map(\.id) }

    package func keySet() async -> KeySetProbe {
        let asked = runtime.clock.now()
        let response: ClientResponse
        do throws(HTTPClientError) {
            response = try await client.get("/auth/keys")
        } catch {
            switch error {
            // Something other than Apple answers.
            case .tooLarge, .malformed: return KeySetProbe(outcome: .unusable("\(error)"), offset: nil)
            case .unknownHost, .inside, .connect, .tls, .timeout, .closed, .proxy:
                return KeySetProbe(outcome: .unreachable(error), offset: nil)
            }
        }
        let offset = ClockOffset(date: response.fields[.date], asked: asked, answered: runtime.clock.now())
        do throws(Failure) {
            let count = try AppleKeySet.parse(response.keySet()).rs256Keys.count
            return KeySetProbe(outcome: .usable(keys: count), offset: offset)
        } catch {
            return KeySetProbe(outcome: .unusable("\(error)"), offset: offset)
        }
    }

    /// Redeems a code that does not exist, as one of our clients, with a secret of one key.
    package func answer(to clientID: ClientID, keyID: String) async -> ClientProbe {
        guard let key = configuration.signingKeys.all.first(where: { $0.id == keyID }) else {
            return .unsigned("there is no key \(keyID)")
        }
        // With only this key, so that the other one is not tried.
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

    /// Asks for an access token of the scope `user.migration` (TN3159), which is discarded: the request has no code
    /// that Apple could examine before the client and its key. Nil when the answer says nothing about them.
    private func authentication(
        of clientID: ClientID, _ tokens: TokenClient
    ) async throws(TokenClientFailure) -> ClientProbe? {
        let response = try await tokens.post("/auth/token", as: clientID, form: AccessToken.form)
        if response.status.code == 200 { return .accepted }
        return response.tokenEndpointRefusal.flatMap { $0.isOfClient ? .clientRefused($0.text) : nil }
    }
}

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

    package func certainlyExceeds(milliseconds limit: Int64) -> Bool {
        abs(milliseconds) - uncertainty > limit
    }
}

/// The token endpoint's answer for a client and a code that does not exist. Texts are Apple's, safe for a log.
package enum ClientProbe: Hashable, Sendable {
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
    case unsigned(String)

    init(_ response: ClientResponse) {
        guard let refusal = response.tokenEndpointRefusal else {
            let rest = response.isRefusalStatus ? " without an error of the protocol" : ""
            self = .noAnswer("status \(response.status.code)\(rest)")
            return
        }
        switch refusal.error {
        case "invalid_grant": self = .codeRefused(refusal.text)
        case "invalid_client", "unauthorized_client": self = .clientRefused(refusal.text)
        default: self = .otherRefusal(refusal.text)
        }
    }
}
