import Accounts
import Coding
import Crypto

@testable import AppleID

extension FuzzTarget {
    /// The claims of Apple's tokens, in the clear: everything that is asked of an identity token and of a notification
    /// before and after its signature.
    static let claims = FuzzTarget(name: "claims", maximumLength: 2048) { input throws(Finding) in
        if let name = CallbackFormParser.name(in: String(decoding: input, as: UTF8.self)) {
            for part in [name.given, name.family].compactMap({ $0 }) { try checkName(part) }
        }
        let text = "\(header).\(Base64URL.encode(input)).AAAA"
        guard let token = try? UnverifiedAppleToken.parse(text) else { return nil }
        try hold(token.claims == (try? JSONObject.claims(input)), "other claims than were written")
        try checkEmail(token.claims)
        let subject = try? ClaimRules.identifier("sub", in: token.claims)
        if let subject { try hold(ClaimRules.isIdentifier(subject), "sub \(subject)") }
        guard let issuer = try? ClaimRules.validateIssuer(token.claims, issuers: ["https://appleid.apple.com"]) else {
            return nil
        }
        try hold(issuer.isExactly("https://appleid.apple.com"), "iss \(issuer)")
        if let audience = try? ClaimRules.validateAudience(token.claims, allowed: clients) {
            try hold(clients.contains { $0.isExactly(audience) }, "aud \(audience)")
        }
        try checkTimes(token.claims)
        return subject == nil ? nil : input
    }

    private static let header = Base64URL.encode(Array(#"{"alg":"RS256","kid":"first"}"#.utf8))
    private static let clients = ["com.example.web", "com.example.app"]
    private static let now = Timestamp(seconds: 1_800_000_000)

    private static func checkEmail(_ claims: JSONObject) throws(Finding) {
        guard let email = EmailClaims.read(claims) else { return }
        let isPlain = email.address.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x2C && $0 != 0x3B }
        try hold(isPlain && email.address.utf8.count <= 254, "an address that is unsafe in a field: \(email.address)")
    }

    private static func checkTimes(_ claims: JSONObject) throws(Finding) {
        guard let issuedAt = try? ClaimRules.validateTimes(claims, at: now) else { return }
        let latest = now.adding(seconds: ClaimRules.maximumSkew)
        try hold(issuedAt.milliseconds >= 0 && issuedAt <= latest, "issued at \(issuedAt.milliseconds)")
        var claims = claims
        claims["jti"] = "1"
        guard let event = try? AppleNotification(claims: claims, issuedAt: issuedAt, clientID: ClientID(clients[0]))
        else { return }
        let latestEvent = issuedAt.adding(seconds: ClaimRules.maximumSkew)
        let time = event.eventTime
        try hold(time.milliseconds >= 0 && time <= latestEvent, "an event at \(time.milliseconds)")
        try hold(!event.type.isEmpty, "an event of no type")
        if let subject = event.subject { try hold(ClaimRules.isIdentifier(subject.rawValue), "sub \(subject)") }
    }
}
