package import Accounts
import Coding
import Crypto

// Why one of Apple's tokens was refused, or could not be verified, as the failure of a sign-in.
extension Failure {
    /// - Parameter check: names the check, never a value of the token.
    static func refused(_ check: String) -> Failure { Failure(.identityToken, check) }
    static func clock(_ check: String) -> Failure { Failure(.clock, check) }
    /// The key set is unavailable, and none is held.
    package static func withoutKeys(_ cause: String) -> Failure { Failure(.keysUnavailable, cause) }
    /// The kid is not in the set, and the set may not be fetched again yet.
    package static var coolingDown: Failure { withoutKeys("unknown kid within the cool-down") }
    /// A set that was just fetched does not contain the kid: the token is not Apple's, and waiting would not help.
    package static var unknownKey: Failure { refused("unknown kid") }

    /// The failure of a check of a refresh token, which Apple has accepted.
    var ofCheck: TokenFailure {
        code == .keysUnavailable ? .unavailable(description, mayHaveActed: true) : .unverified(description)
    }

    /// The failure of a notification: 400 for what is not Apple's, 503 where a later delivery may succeed.
    var ofNotification: Failure { code == .keysUnavailable ? self : Failure(.notificationRefused, detail) }
}

/// A parsed JWT whose signature has not been verified: only the cheap checks read its claims.
struct UnverifiedAppleToken: Sendable {
    /// Bytes of the compact form.
    static let maximumSize = 16_384

    let jws: CompactJWS
    let claims: JSONObject

    /// Strict compact form (RFC 7515 §7.1), only RS256 (RFC 8725 §3.1), claims in a JSON object.
    static func parse(_ text: String) throws(Failure) -> UnverifiedAppleToken {
        guard text.utf8.count <= maximumSize else { throw .refused("token too long") }
        let jws = try translating(try CompactJWS.parse(text, maximumBytes: maximumSize)) { (error: JOSEError) in
            Failure.refused("not a compact JWS: \(error)")
        }
        // The header does not choose the algorithm: it names the only one we accept, or the token is refused.
        guard jws.algorithm == "RS256" else { throw .refused("alg is not RS256") }
        let limits = JSONLimits(maximumBytes: maximumSize, maximumDepth: 16)
        let value = try translating(try JSONReader.parse(jws.payload, limits: limits)) { (error: JSONError) in
            Failure.refused("claims are not strict JSON: \(error)")
        }
        guard let claims = value.objectValue else { throw .refused("claims are not an object") }
        return UnverifiedAppleToken(jws: jws, claims: claims)
    }

    fileprivate func keyID() throws(Failure) -> String {
        guard let kid = jws.keyID, !kid.isEmpty, kid.utf8.count <= 128 else { throw .refused("kid is missing") }
        return kid
    }

    fileprivate func verified(with key: RSAPublicKey) throws(Failure) -> JSONObject {
        guard (try? RS256.verify(jws, with: key)) != nil else { throw .refused("signature is wrong") }
        return claims
    }
}

// The last and most expensive check: the signature, by the key that the header names.
extension AppleKeySet {
    /// An absent kid is refused, however many keys there are: Apple always sends one. A key that does not verify may
    /// have been replaced under its kid: the set is fetched again, within the bounds for an unknown kid, and the
    /// signature is verified once more if the key is different. Returns the claims, now Apple's.
    func verifySignature(of token: UnverifiedAppleToken) async throws(Failure) -> JSONObject {
        let kid = try token.keyID()
        let key = try await self.key(for: kid)
        do throws(Failure) {
            return try token.verified(with: key)
        } catch {
            guard let other = try? await self.key(for: kid, otherThan: key) else { throw error }
            return try token.verified(with: other)
        }
    }

    /// With the present keys only: a token that is refused anyway causes no fetch, except the renewal that is due.
    func isSignedByHeldKey(_ token: UnverifiedAppleToken) async -> Bool {
        guard let kid = try? token.keyID() else { return false }
        if heldKey(for: kid) == nil { await renewIfDue() }
        guard let key = heldKey(for: kid) else { return false }
        return (try? token.verified(with: key)) != nil
    }
}
