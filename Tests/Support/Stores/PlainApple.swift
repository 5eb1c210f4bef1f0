package import Coding

@testable package import Accounts

/// How the Apple of a test writes: an identity token is `sub|nonce|code`, a name is its words.
package enum PlainApple {
    package static func parse(_ body: [UInt8]) throws(Failure) -> CallbackForm {
        guard let fields = try? FormDecoder.parse(body) else { throw Failure(.malformedCallback, "no form") }
        guard Set(fields.map(\.name)).count == fields.count else {
            throw Failure(.malformedCallback, "duplicate field")
        }
        func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }
        let name = field("user").map { user in
            let words = user.split(separator: " ").map(String.init)
            return PersonName(given: words.first, family: words.dropFirst().first)
        }
        return CallbackForm(
            state: field("state"), code: field("code"), identityToken: field("id_token"), name: name,
            rawUser: field("user"), error: field("error"), isRepost: field("repost") == "1")
    }

    package static func claimedSubject(of identityToken: String) -> AppleSubject? {
        identityToken.split(separator: "|").first.map { AppleSubject(String($0)) }
    }

    /// - Throws: when the token is of another nonce or code.
    package static func verify(
        _ identityToken: String, code: String, nonce: String, client: ClientID, at now: Timestamp
    ) throws(Failure) -> IdentityClaims {
        let parts = identityToken.split(separator: "|").map(String.init)
        guard parts.count == 3, parts[1] == nonce else { throw Failure(.identityToken, "nonce") }
        guard parts[2] == code else { throw Failure(.identityToken, "c_hash") }
        return claims(parts[0], client, at: now)
    }

    /// A token's times are whole seconds.
    package static func claims(_ subject: String, _ client: ClientID, at now: Timestamp) -> IdentityClaims {
        IdentityClaims(
            issuer: "https://appleid.apple.com", clientID: client, subject: AppleSubject(subject),
            issuedAt: Timestamp(seconds: now.seconds),
            email: EmailAddress(address: "\(subject)@example.com", isVerified: true, isPrivate: false))
    }
}
