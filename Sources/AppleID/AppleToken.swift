import Accounts
import Coding
import Crypto

/// Why one of Apple's tokens was refused; mapped in one file to the domain's errors.
enum TokenRefusal: Error, Hashable, Sendable {
    /// The text names the check, never a value of the token.
    case refused(String)
    /// A time claim is outside the tolerance.
    case clock(String)
    /// Apple's notification for a client that is not ours, by its ID.
    case otherAudience(String)
    case keys(KeySetFailure)
}

extension TokenRefusal {
    /// The failure of a sign-in.
    var signInFailure: Failure {
        switch self {
        case .refused(let text): Failure(.identityToken, text)
        case .clock(let text): Failure(.clock, text)
        case .otherAudience: Failure(.identityToken, "aud is not ours")
        // Not in a set that was just fetched: the token is not Apple's, and waiting would not help.
        case .keys(.unknownKey): Failure(.identityToken, "unknown kid")
        case .keys(let failure): Failure(.keysUnavailable, failure.cause)
        }
    }

    /// The failure of a notification: 400 for what is not Apple's, 503 where a later delivery may succeed.
    var notificationFailure: NotificationFailure {
        switch self {
        case .refused(let text), .clock(let text): .refused(text)
        case .otherAudience(let audience): .otherAudience(audience)
        case .keys(.unknownKey): .refused("unknown kid")
        case .keys(let failure): .keysUnavailable(failure.cause)
        }
    }
}

/// A parsed JWT whose signature has not been verified. The cheap checks read its claims; only `AppleTokenVerifier`
/// makes `AppleTokenClaims` of it.
struct UnverifiedAppleToken: Sendable {
    /// Bytes of the compact form.
    static let maximumSize = 16_384

    let jws: CompactJWS
    let claims: JSONObject

    /// Strict compact form (RFC 7515 §7.1), only RS256 (RFC 8725 §3.1), claims in a JSON object.
    static func parse(_ text: String) throws(TokenRefusal) -> UnverifiedAppleToken {
        guard text.utf8.count <= maximumSize else { throw .refused("token too long") }
        let jws: CompactJWS
        do throws(JOSEError) {
            jws = try CompactJWS.parse(text, maximumBytes: maximumSize)
        } catch {
            throw .refused("not a compact JWS: \(error)")
        }
        // The header chooses nothing: it names what we would have done anyway, or the token is refused.
        guard jws.algorithm == "RS256" else { throw .refused("alg is not RS256") }
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONReader.parse(jws.payload, limits: JSONLimits(maximumBytes: maximumSize, maximumDepth: 16))
        } catch {
            throw .refused("claims are not strict JSON: \(error)")
        }
        guard let claims = value.objectValue else { throw .refused("claims are not an object") }
        return UnverifiedAppleToken(jws: jws, claims: claims)
    }
}

/// The claims of a token whose signature is Apple's.
struct AppleTokenClaims: Sendable {
    let object: JSONObject
    fileprivate init(_ object: JSONObject) { self.object = object }
}

/// The last and most expensive check: the signature, by the key that the header names.
struct AppleTokenVerifier: Sendable {
    let keys: AppleKeySet

    /// An absent kid is refused, however many keys there are. Apple always sends one.
    ///
    /// A key that does not verify may have been replaced under its kid: the set is fetched again, within the bounds for
    /// an unknown kid, and the signature is verified once more if the key is different.
    func verifySignature(of token: UnverifiedAppleToken) async throws(TokenRefusal) -> AppleTokenClaims {
        let kid = try Self.keyID(of: token)
        let key: RSAPublicKey
        do throws(KeySetFailure) {
            key = try await keys.key(for: kid)
        } catch {
            throw .keys(error)
        }
        do throws(TokenRefusal) {
            return try Self.verify(token, with: key)
        } catch {
            guard let other = try? await keys.key(for: kid, otherThan: key) else { throw error }
            return try Self.verify(token, with: other)
        }
    }

    /// With the present keys only: a token that is refused anyway causes no fetch, except the renewal that is due.
    /// - Returns: whether one of them is the token's and the signature is valid.
    func isSignedByHeldKey(_ token: UnverifiedAppleToken) async -> Bool {
        guard let kid = try? Self.keyID(of: token) else { return false }
        if keys.heldKey(for: kid) == nil { await keys.renewIfDue() }
        guard let key = keys.heldKey(for: kid) else { return false }
        return (try? Self.verify(token, with: key)) != nil
    }

    private static func keyID(of token: UnverifiedAppleToken) throws(TokenRefusal) -> String {
        guard let kid = token.jws.keyID, !kid.isEmpty, kid.utf8.count <= 128 else { throw .refused("kid is missing") }
        return kid
    }

    private static func verify(
        _ token: UnverifiedAppleToken, with key: RSAPublicKey
    ) throws(TokenRefusal) -> AppleTokenClaims {
        do throws(JOSEError) {
            try RS256.verify(token.jws, with: key)
        } catch {
            throw .refused("signature is wrong")
        }
        return AppleTokenClaims(token.claims)
    }
}
