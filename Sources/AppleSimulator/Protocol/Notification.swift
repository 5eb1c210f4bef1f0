import Coding

struct SentNotification: Sendable {
    var id: String
    var type: String
    var person: String?
    var payload: String
    /// Seconds since 1970.
    var issuedAt: Int64
    /// Each with its time, and the HTTP status or why there was none.
    var deliveries: [JSON] = []
}

/// How a notification is written; Apple's documentation and servers differ.
struct NotificationOrder: Sendable {
    enum Form: String, Sendable { case string, object }
    enum Unit: String, Sendable { case milliseconds, seconds }

    var type: String
    var subject: String
    var person: String?
    var audience: String
    /// Milliseconds since 1970.
    var eventTime: Int64
    /// `email` and `is_private_email`, for the two email events.
    var address: String?
    var isPrivate = false
    var form = Form.string
    var unit = Unit.milliseconds
    /// `jti`; nil: a new one.
    var id: String?
    /// Set last, into the claims; null removes one.
    var claims = JSONObject()
    /// Set last, into the event.
    var event = JSONObject()
    var header = JSONObject()

    func made(with key: KeySet.Entry, at moment: Moment) -> SentNotification {
        var event: JSON = [
            "type": .string(type), "sub": .string(subject),
            "event_time": .integer(unit == .milliseconds ? eventTime : eventTime / 1000),
        ]
        if let address {
            event["email"] = .string(address)
            event["is_private_email"] = .string(isPrivate ? "true" : "false")
        }
        event.merge(self.event)
        let jti = id ?? Base64URL.encode(moment.randomBytes(16))
        var claims: JSON = [
            "iss": .string(moment.issuer), "aud": .string(audience), "exp": .integer(moment.seconds + 86_400),
            "iat": .integer(moment.seconds), "jti": .string(jti),
            "events": form == .string ? .string(event.text) : event,
        ]
        claims.merge(self.claims)
        return SentNotification(
            id: jti, type: type, person: person, payload: key.signed(claims, header: header), issuedAt: moment.seconds)
    }
}

extension World {
    mutating func apply(_ order: NotificationOrder, team: String) {
        guard let person = order.person else { return }
        let key = Consent.Key(person: person, team: team)
        switch order.type {
        case "consent-revoked", "account-delete", "account-deleted": revokeConsent(key)
        case "email-disabled": consents[key]?.isForwarding = false
        case "email-enabled": consents[key]?.isForwarding = true
        default: break
        }
    }
}
