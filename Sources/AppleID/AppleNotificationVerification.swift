import Accounts
import Coding
import Synchronization

// What Apple posts to the notification URL: `{"payload": JWT}`.
extension AppleIdentityProvider {
    /// The largest body, in bytes.
    private static let maximumNotificationSize = 65_536

    func notification(in body: [UInt8]) async throws(Failure) -> VerifiedNotification {
        let token = try UnverifiedAppleToken.parse(try Self.payload(of: body))
        let claims = token.claims
        _ = try ClaimRules.validateIssuer(claims, issuers: configuration.issuers)
        let allowed = configuration.clientIDs.map(\.rawValue)
        let audience: String
        do throws(Failure) {
            audience = try ClaimRules.validateAudience(claims, allowed: allowed)
        } catch {
            guard let other = await otherApp(of: token, than: allowed) else { throw error }
            return .ofOtherApp(other)
        }
        let issuedAt = try ClaimRules.validateTimes(claims, at: clock.now())
        // An identity token is signed by the same keys and must never end a session (RFC 8725 §3.11).
        guard claims["nonce"] == nil else { throw .refused("nonce: an identity token is not a notification") }
        var notification = try AppleNotification(claims: claims, issuedAt: issuedAt, clientID: ClientID(audience))

        let verified = try await keys.verifySignature(of: token)
        notification.payload = String(decoding: JSONWriter.encode(.object(verified)), as: UTF8.self)
        return .ours(notification)
    }

    /// The app that the notification is for, if it is not configured; nil unless Apple signed it.
    ///
    /// It is usually the primary App ID, which is not configured. The notification is refused anyway, so this may only
    /// cost a limited number of signatures per second, and no fetch except the renewal that is due.
    private func otherApp(of token: UnverifiedAppleToken, than allowed: [String]) async -> String? {
        let claims = token.claims
        guard let other = ClaimRules.otherAudience(claims, than: allowed), claims["events"] != nil,
            claims["nonce"] == nil, (try? ClaimRules.validateTimes(claims, at: clock.now())) != nil,
            mayCheckUnlisted(), await keys.isSignedByHeldKey(token)
        else { return nil }
        return other
    }

    /// Per second: a third of a percent of a processor.
    private static let maximumUnlistedChecks = 100

    private func mayCheckUnlisted() -> Bool {
        let now = clock.now().seconds
        return unlistedChecks.withLock { checks in
            if checks.second != now { checks = (now, 0) }
            checks.count += 1
            return checks.count <= Self.maximumUnlistedChecks
        }
    }

    private static func payload(of body: [UInt8]) throws(Failure) -> String {
        guard body.count <= maximumNotificationSize else { throw .refused("body too large") }
        let limits = JSONLimits(maximumBytes: maximumNotificationSize, maximumDepth: 4)
        let value = try translating(try JSONReader.parse(body, limits: limits)) { (error: JSONError) in
            Failure.refused("body is not strict JSON: \(error)")
        }
        guard let payload = value.objectValue?["payload"]?.stringValue else { throw .refused("payload is missing") }
        return payload
    }
}

extension AppleNotification {
    private static let maximumTypeSize = 128

    /// Parses claims without their payload. `events` is in practice a JSON string, in Apple's documentation an object.
    ///
    /// An event of a type that we act on needs `sub` and `event_time`; one of an unknown type is recorded with what it
    /// has.
    init(claims: JSONObject, issuedAt: Timestamp, clientID: ClientID) throws(Failure) {
        let id = try ClaimRules.identifier("jti", in: claims)
        let event = try Self.object(claims["events"])
        guard let type = event["type"]?.stringValue, !type.isEmpty, type.utf8.count <= Self.maximumTypeSize
        else { throw .refused("the event's type is missing or unusable") }
        let reported = Self.time(event["event_time"])
        let latest = Self.latest(issuedAt)
        self.init(id: id, type: type, clientID: clientID, eventTime: min(reported ?? issuedAt, latest), payload: "")
        email = EmailClaims.read(event)
        if kind == .unknown {
            subject = ClaimRules.optionalIdentifier("sub", in: event).map { AppleSubject($0) }
        } else {
            subject = AppleSubject(try ClaimRules.identifier("sub", in: event))
            guard reported != nil else { throw .refused("event_time is missing or mistyped") }
        }
    }

    /// No event is reported before it happened, and a time far ahead would end sessions not yet begun. Both times are
    /// from Apple's clock, so a later one is replaced by this.
    private static func latest(_ issuedAt: Timestamp) -> Timestamp {
        issuedAt.adding(seconds: ClaimRules.maximumSkew)
    }

    private static func object(_ events: JSONValue?) throws(Failure) -> JSONObject {
        switch events {
        case nil: throw .refused("events is missing")
        case .object(let object): return object
        case .string(let text):
            let limits = JSONLimits(maximumBytes: UnverifiedAppleToken.maximumSize, maximumDepth: 8)
            guard let object = (try? JSONReader.parse(Array(text.utf8), limits: limits))?.objectValue else {
                throw .refused("events is a string, but not of a JSON object")
            }
            return object
        default: throw .refused("events is mistyped")
        }
    }

    /// Documentation shows seconds, deliveries have milliseconds: 10¹¹ is the year 5138 in one and 1973 in the other.
    static func time(_ value: JSONValue?) -> Timestamp? {
        guard case .number(let number) = value, let amount = number.double, amount >= 0, amount < 9_007_199_254_740_992
        else { return nil }
        if amount >= 100_000_000_000 { return Timestamp(milliseconds: Int64(amount)) }
        return Timestamp(milliseconds: Int64(amount * 1000))
    }
}
