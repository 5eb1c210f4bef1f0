internal import Coding

/// The only algorithm this server accepts in foreign tokens (RFC 7518 §3.3).
package enum RS256 {
    package static let name = "RS256"

    /// Refuses any token whose header does not say exactly RS256: cheap, so done before looking for a key.
    package static func requireAlgorithm(of jws: CompactJWS) throws(JOSEError) {
        guard let algorithm = jws.algorithm, algorithm.isExactly(name) else { throw .algorithm(jws.algorithm) }
    }

    /// - Throws: `.algorithm` or `.badSignature`. Nothing of the token may be trusted before this returns.
    package static func verify(_ jws: CompactJWS, with key: RSAPublicKey) throws(JOSEError) {
        try requireAlgorithm(of: jws)
        guard key.verifyRS256(signature: jws.signature, message: jws.signingInput) else { throw .badSignature }
    }
}
