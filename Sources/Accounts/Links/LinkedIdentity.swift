import Coding
import Crypto

/// A verified identity that waits, sealed, for a link to complete or for the person's answer about an existing account.
struct LinkedIdentity: Sendable {
    var identity: VerifiedIdentity
    /// Given with this consent; for a page.
    var name: PersonName?
    /// The attempt that a session made from it would use up.
    var attempt: SignInAttempt
    var kind: SessionKind
    var device: Device
    /// For a waiting identity: where the sign-in leads.
    var returnTo: String?

    static let purpose = SealingPurpose.other("linked-identity")

    /// It is sealed only for one link, or one waiting person.
    static func context(of id: ID<some Identified>) -> [UInt8] { Array(id.rawValue.utf8) }

    func seal(for id: ID<some Identified>, with keyring: SealingKeyring) -> [UInt8] {
        keyring.seal(encoded, purpose: Self.purpose, context: Self.context(of: id))
    }

    /// Nil when no key of the ring opens it.
    static func open(_ sealed: [UInt8]?, for id: ID<some Identified>, with keyring: SealingKeyring) -> LinkedIdentity? {
        guard let sealed, let plaintext = try? keyring.open(sealed, purpose: purpose, context: context(of: id)),
            let object = (try? JSONReader.parse(plaintext))?.objectValue
        else { return nil }
        return LinkedIdentity(object)
    }
}

extension LinkedIdentity {
    private var encoded: [UInt8] {
        let claims = identity.claims
        return JSONWriter.object { writer in
            writer.member("issuer", claims.issuer)
            writer.member("client", claims.clientID.rawValue)
            writer.member("subject", claims.subject.rawValue)
            writer.member("issuedAt", claims.issuedAt.milliseconds)
            if let email = claims.email {
                writer.member("email", email.address)
                writer.member("emailVerified", email.isVerified)
                writer.member("emailPrivate", email.isPrivate)
            }
            writer.member("realUserStatus", claims.realUserStatus?.rawValue)
            writer.member("transferSubject", claims.transferSubject)
            writer.member("organizationID", claims.organizationID)
            writer.member("refreshToken", identity.refreshToken?.value)
            writer.member("given", name?.given)
            writer.member("family", name?.family)
            writer.member("attempt", attempt.id.hexadecimal)
            writer.member("attemptIssuedAt", attempt.issuedAt.milliseconds)
            writer.member("binding", attempt.bindingHash.hexadecimal)
            writer.member("replacing", attempt.replacing?.rawValue)
            writer.member("kind", kind.rawValue)
            writer.member("userAgent", device.userAgent)
            writer.member("address", device.address)
            writer.member("returnTo", returnTo)
        }
    }

    private init?(_ object: JSONObject) {
        func text(_ name: String) -> String? { object[name]?.stringValue }
        func moment(_ name: String) -> Timestamp? { object[name]?.int64Value.map { Timestamp(milliseconds: $0) } }
        func digest(_ name: String) -> Digest256? {
            text(name).flatMap { Hexadecimal.decode($0) }.flatMap { Digest256(bytes: $0) }
        }
        guard let issuer = text("issuer"), let client = text("client"), let subject = text("subject"),
            let issuedAt = moment("issuedAt"), let attempt = digest("attempt"),
            let attemptIssuedAt = moment("attemptIssuedAt"), let binding = digest("binding"),
            let kind = text("kind").flatMap(SessionKind.init), let userAgent = text("userAgent"),
            let address = text("address")
        else { return nil }
        var email: EmailAddress?
        if let address = text("email") {
            email = EmailAddress(
                address: address, isVerified: object["emailVerified"]?.boolValue ?? false,
                isPrivate: object["emailPrivate"]?.boolValue ?? false)
        }
        let claims = IdentityClaims(
            issuer: issuer, clientID: ClientID(client), subject: AppleSubject(subject), issuedAt: issuedAt,
            email: email, realUserStatus: text("realUserStatus").flatMap(RealUserStatus.init),
            transferSubject: text("transferSubject"), organizationID: text("organizationID"))
        identity = VerifiedIdentity(claims: claims, refreshToken: text("refreshToken").map { RefreshToken($0) })
        let name = PersonName(given: text("given"), family: text("family"))
        self.name = name.isEmpty ? nil : name
        self.attempt = SignInAttempt(
            id: attempt, issuedAt: attemptIssuedAt, bindingHash: binding,
            replacing: text("replacing").map { SessionID(unchecked: $0) })
        self.kind = kind
        device = Device(userAgent: userAgent, address: address)
        returnTo = text("returnTo")
    }
}
