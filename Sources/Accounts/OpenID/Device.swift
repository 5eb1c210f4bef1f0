package import Coding
import Crypto
import Storage

// The device authorization grant (RFC 8628): a terminal or a television shows a code, and the person enters it in a
// browser. What that allows is an ordinary grant, with the device code as its code.

/// A device code (§3.2), `bod_…`. Its id is that of the grant to come, and begins with its time.
package struct GrantedDeviceCode: GrantToken {
    package static var prefix: String { "bod_" }
    package let text: String
    package let grant: Grant.ID
    package init(unchecked text: String, grant: Grant.ID) { (self.text, self.grant) = (text, grant) }
}

/// What a person enters (§6.1): eight of twenty consonants, which spell no word; over 34 bits.
package struct DeviceUserCode: Hashable, Sendable, TextColumn {
    package static let alphabet = "BCDFGHJKLMNPQRSTVWXZ"
    package static let length = 8

    /// Without its hyphen.
    package let rawValue: String

    /// In any case; spaces and hyphens are ignored.
    package init?(parsing text: String) {
        guard text.utf8.count <= 64 else { return nil }
        let letters = text.uppercased().filter { !$0.isWhitespace && !"-\u{2010}\u{2011}\u{2013}".contains($0) }
        guard letters.utf8.count == Self.length, letters.utf8.allSatisfy(Self.alphabet.utf8.contains) else {
            return nil
        }
        rawValue = letters
    }

    init(stored text: String) { rawValue = text }

    /// Of 64 random bits: the remainder's bias is below 2⁻²⁹.
    static func make(random: any RandomSource) -> DeviceUserCode {
        var number = random.bytes(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let letters = Array(alphabet.utf8)
        var text: [UInt8] = []
        for _ in 0..<length {
            text.append(letters[Int(number % UInt64(letters.count))])
            number /= UInt64(letters.count)
        }
        return DeviceUserCode(stored: String(decoding: text, as: UTF8.self))
    }

    /// As a device shows it: `BCDF-GHJK`.
    package var text: String { "\(rawValue.prefix(4))-\(rawValue.dropFirst(4))" }
}

/// A device's request, kept until it expires, whatever becomes of it.
package struct DeviceRequest: Hashable, Sendable {
    /// Of the grant to come.
    package var id: Grant.ID
    package var client: OpenIDClientID
    /// Of the device code.
    var codeHash: Digest256
    package var userCode: DeviceUserCode
    package var scopes: [OpenIDScope]
    /// The services it is for, as registered.
    package var services: [String]
    /// Where it came from.
    package var device: Device
    package var expiresAt: Timestamp
    /// The session in which it was decided; nil before.
    var decidedIn: SessionID?
    var isAllowed = false

    /// For the ticket of the page that shows it.
    var digest: Digest256 { SHA256.hash(id.bytes + Array(userCode.rawValue.utf8)) }
}

/// Where a device's request stands, for a poll (§3.5).
enum DevicePoll: Sendable {
    case allowed, pending, tooEarly, denied, expired
    /// Also of another client.
    case unknown

    /// Returns when it was allowed. Every other outcome is the client's error.
    func requireAllowed() throws(Failure) {
        switch self {
        case .allowed: return
        case .pending: throw .oauth(.authorizationPending, "the person has not decided yet")
        case .tooEarly: throw .oauth(.slowDown, "wait five seconds longer between requests from now on")
        case .denied: throw .oauth(.accessDenied, "the person did not allow it")
        case .expired: throw .oauth(.expiredToken, "the device code has expired; begin again")
        case .unknown: throw TokenRequest.refusedCode("unknown device code")
        }
    }
}

/// What a person's code or decision leads to.
package enum DeviceAnswer: Sendable {
    /// The code is unknown, expired or used.
    case unknown
    /// The page that names this request, with the ticket of its form.
    case ask(DeviceRequest, OpenIDClient, [Service], ticket: String)
    case allowed
    case denied
}

extension OpenIDProvider {
    /// How long a device's request waits, in seconds.
    package static let deviceLifetime: Int64 = 600
    /// Seconds between its polls, and what each one that comes too early adds.
    package static let deviceInterval: Int64 = 5

    /// Begins a device's request (§3.1).
    ///
    /// - Parameters:
    ///   - client: proven.
    ///   - device: that asks.
    package func beginDevice(
        _ request: ProviderRequest, of client: OpenIDClient, on device: Device
    ) async throws(Failure) -> (code: GrantedDeviceCode, userCode: DeviceUserCode) {
        try client.requireDevice()
        let asked = request.authorizeRequest
        let services = try await services(of: asked)
        let scopes = try ValidatedAuthorizeRequest.scopes(of: asked, client, services)
        let now = clock.now()
        let code = GrantedDeviceCode.make(.make(at: now, random: random), secret: random.bytes(32))
        let made = DeviceRequest(
            id: code.grant, client: client.id, codeHash: code.hash, userCode: .make(random: random), scopes: scopes,
            services: services.map(\.uri), device: device, expiresAt: now.adding(seconds: Self.deviceLifetime))
        guard try await database.keep(made, at: now) else {
            throw .oauth(.temporarilyUnavailable, "too many devices are waiting; try again later")
        }
        return (code, made.userCode)
    }

    /// What an entered code, or a decision on it, leads to (§3.3).
    ///
    /// - Parameters:
    ///   - allows: nil before the person has decided.
    ///   - ticket: of the form with the decision.
    ///   - address: the person's, whose wrong codes are counted too.
    /// - Throws: `.tooManyRequests` after too many wrong codes; `.openIDNotAllowed`.
    package func decideDevice(
        _ text: String, allows: Bool?, ticket: String?, _ signedIn: SignedIn, at address: String
    ) async throws(Failure) -> DeviceAnswer {
        guard let userCode = DeviceUserCode(parsing: text) else { return .unknown }
        let (now, session) = (clock.now(), signedIn.session)
        let found = try await database.deviceRequest(userCode, tried: [signedIn.user.id.rawValue, address], at: now)
        guard let request = found, let client = try await storedClient(named: request.client.rawValue),
            client.allowsDevice
        else {
            return .unknown
        }
        let services =
            request.services.isEmpty
            ? [] : try await database.services().filter { request.services.contains($0.uri) }
        // One that was deleted cannot be allowed, nor its successor at the same address.
        guard services.count == request.services.count,
            services.allSatisfy({ $0.createdAt <= request.id.time })
        else { return .unknown }
        let isProven = self.allows(ticket, request.digest, in: session.id, at: now)
        guard request.decidedIn == nil else {
            // Pressed twice.
            guard isProven, request.decidedIn == session.id else { return .unknown }
            return request.isAllowed ? .allowed : .denied
        }
        guard signedIn.user.state == .active, client.admits(groups: signedIn.user.memberships) else {
            var refusal = Failure(.openIDNotAllowed, "client \(client.id)")
            refusal.visit = FailedVisit { ($0.person, $0.client) = (signedIn.user, client) }
            throw refusal
        }
        guard isProven, let allows else {
            return .ask(request, client, services, ticket: decisionTicket(for: request.digest, in: session.id, at: now))
        }
        let grant = allows ? Grant(request, signedIn) : nil
        // Decided or ended in the meantime.
        guard
            try await database.decide(
                request.id, grant, needing: client.isForeign ? services.scopes(asked: request.scopes) : [:],
                in: session.id, at: now)
        else { return .unknown }
        return allows ? .allowed : .denied
    }
}

extension OpenIDClient {
    /// RFC 6749 §5.2. Otherwise the id of any client, which is public, would do to talk people into an approval.
    func requireDevice() throws(Failure) {
        guard allowsDevice else {
            throw .oauth(.unauthorizedClient, "this client is not registered for devices (--device)")
        }
    }
}

extension Grant {
    /// What a device's request becomes when it is allowed.
    fileprivate init(_ request: DeviceRequest, _ signedIn: SignedIn) {
        self.init(
            id: request.id, client: request.client, user: signedIn.user.id, session: signedIn.session.id,
            redirectURI: "", scopes: request.scopes, services: request.services,
            authenticatedAt: signedIn.session.createdAt,
            code: Token(hash: request.codeHash, expiresAt: request.expiresAt), expiresAt: request.expiresAt)
    }
}

extension ProviderRequest {
    /// What a device asks for is read as what a browser brings.
    fileprivate var authorizeRequest: AuthorizeRequest { AuthorizeRequest(fields) }
}
