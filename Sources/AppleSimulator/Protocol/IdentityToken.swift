import Coding

struct IdentityToken: Sendable {
    var grant: Grant
    var person: Person
    var consent: Consent
    /// `transfer_sub`, in the 60 days after a transfer.
    var transferSubject: String?
    var issuer: String
    /// Seconds since 1970, by the simulator's clock.
    var now: Int64
    var channel: TokenQuirks.Channel
    /// The code it comes with, or the access token.
    var companion: String
    var key: KeySet.Entry
    var quirks: TokenQuirks

    /// Left-most half of the SHA-256 (OpenID Connect Core §3.3.2.11).
    static func halfHash(_ text: String) -> String {
        Base64URL.encode(Array(OpenSSLHash.sha256(text).prefix(16)))
    }

    private func claims() -> JSON {
        let flaws = quirks.flaws
        var claims: JSON = [
            "iss": .string(flaws.contains(.iss) ? "https://appleid.example" : issuer),
            "aud": .string(flaws.contains(.aud) ? "com.example.somebody.else" : grant.client),
            "exp": .integer(flaws.contains(.exp) ? now - 86_400 : now + quirks.lifetime),
            "iat": .integer(flaws.contains(.iat) ? now + 86_400 : now),
            "sub": .string(
                flaws.contains(.sub) ? "000000.00000000000000000000000000000000.0000" : person.subject(team: grant.team)
            ),
        ]
        if flaws.contains(.nonce) {
            claims["nonce"] = "a-nonce-nobody-sent"
        } else if let nonce = grant.nonce, !flaws.contains(.noNonce) {
            claims["nonce"] = .string(nonce)
        }
        let (hash, wrong, absent): (String, TokenQuirks.Flaw, TokenQuirks.Flaw) =
            channel == .authorize ? ("c_hash", .cHash, .noCHash) : ("at_hash", .atHash, .noATHash)
        if !flaws.contains(absent) {
            claims[hash] = .string(Self.halfHash(flaws.contains(wrong) ? "something else" : companion))
        }
        addAddress(to: &claims)
        claims["auth_time"] = .integer(grant.authenticatedAt)
        claims["nonce_supported"] = true
        if grant.isNative, grant.isFirst { claims["real_user_status"] = .integer(person.realUserStatus) }
        if let organization = person.organizationID { claims["org_id"] = .string(organization) }
        if let transferSubject { claims["transfer_sub"] = .string(transferSubject) }
        claims.merge(quirks.claims)
        return claims
    }

    private func addAddress(to claims: inout JSON) {
        guard grant.scopes.contains("email"), let address = person.address(consent, team: grant.team),
            quirks.email != .absent
        else { return }
        func flag(_ value: Bool) -> JSON {
            quirks.flags == .boolean ? .bool(value) : .string(value ? "true" : "false")
        }
        let isPrivate = consent.address == .relay
        claims["email"] = .string(quirks.email == .empty ? "" : address)
        claims["email_verified"] = flag(isPrivate || person.isEmailVerified)
        switch quirks.isPrivateEmail {
        case .whenTrue: if isPrivate { claims["is_private_email"] = flag(true) }
        case .always: claims["is_private_email"] = flag(isPrivate)
        case .never: break
        }
    }

    /// The compact form. It takes a while: not under the lock of the world.
    func signed() -> String {
        var header = JSONObject()
        if quirks.flaws.contains(.kid) { header["kid"] = "NOBODYSKEY" }
        if quirks.flaws.contains(.noKid) { header["kid"] = .null }
        if quirks.flaws.contains(.algNone) { header["alg"] = "none" }
        for member in quirks.header.members { header[member.name] = member.value }
        return key.signed(claims(), header: header, isDamaged: quirks.flaws.contains(.signature))
    }
}

extension KeySet.Entry {
    /// A JWS in compact form (RFC 7515 §7.1). The header's `changes` are set last; null removes a member.
    func signed(_ claims: JSON, header changes: JSONObject, isDamaged: Bool = false) -> String {
        var header: JSON = ["kid": .string(kid), "alg": "RS256"]
        header.merge(changes)
        let input = Base64URL.encode(header.bytes) + "." + Base64URL.encode(claims.bytes)
        var signature = header["alg"]?.stringValue == "none" ? [] : key.sign(Array(input.utf8))
        if isDamaged, !signature.isEmpty { signature[signature.count / 2] ^= 1 }
        return input + "." + Base64URL.encode(signature)
    }
}
