internal import COpenSSL

/// An RSA key that may verify: 2048 to 4096 bits, built once and shared by all threads.
package struct RSAPublicKey: Sendable {
    /// Bits of the modulus.
    package static let allowedBits = 2048...4096

    private let verifier: EVPVerifier
    /// Bytes of the modulus, and so of every signature.
    private let signatureCount: Int
    /// The digest of modulus and exponent, for comparing keys.
    private let digest: Digest256

    /// - Parameters:
    ///   - modulus: big-endian; leading zeros are allowed.
    ///   - exponent: big-endian; odd, at least 3, at most 64 bits (required by RFC 8017 §3.1, and a bound on work).
    package init(modulus: [UInt8], exponent: [UInt8]) throws(KeyError) {
        let modulus = Array(modulus.drop { $0 == 0 })
        let exponent = Array(exponent.drop { $0 == 0 })
        let bits = modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0)
        guard Self.allowedBits.contains(bits) else { throw .unsupportedSize(bits: bits) }
        guard let last = exponent.last, last & 1 == 1, exponent != [1], exponent.count <= 8 else {
            throw .unsupportedExponent
        }
        // An even modulus is not a product of two large primes.
        guard modulus[modulus.count - 1] & 1 == 1 else { throw .malformed }
        digest = SHA256.hash([UInt8(exponent.count)] + exponent + modulus)
        // A parameter holds an integer in the machine's byte order (OSSL_PARAM(3)).
        var n = Self.nativeEndian(modulus)
        var e = Self.nativeEndian(exponent)
        // Safe: both buffers outlive the call that reads the parameters.
        let key = unsafe n.withUnsafeMutableBytes { n in
            unsafe e.withUnsafeMutableBytes { e in
                var parameters = unsafe [
                    OSSL_PARAM_construct_BN(
                        ProviderParameters.pointer("n"), n.baseAddress?.assumingMemoryBound(to: UInt8.self), n.count),
                    OSSL_PARAM_construct_BN(
                        ProviderParameters.pointer("e"), e.baseAddress?.assumingMemoryBound(to: UInt8.self), e.count),
                    OSSL_PARAM_construct_end(),
                ]
                return unsafe EVPKey.makePublic(type: "RSA", parameters: &parameters)
            }
        }
        guard let key, let verifier = unsafe EVPVerifier(key: key, digest: FetchedAlgorithms.shared.sha256) else {
            throw .internalFailure
        }
        self.verifier = verifier
        signatureCount = modulus.count
    }

    /// RSASSA-PKCS1-v1_5 with SHA-256 (RFC 7518 §3.3).
    ///
    /// - Returns: false for any signature that is not exactly the one encoding RFC 8017 §8.2.2 allows.
    package func verifyRS256(signature: [UInt8], message: [UInt8]) -> Bool {
        guard signature.count == signatureCount else { return false }
        return verifier.verify(signature: signature, message: message)
    }

    private static func nativeEndian(_ bytes: [UInt8]) -> [UInt8] {
        1.littleEndian == 1 ? bytes.reversed() : bytes
    }
}

extension RSAPublicKey: Equatable {
    package static func == (left: Self, right: Self) -> Bool { left.digest == right.digest }
}
