internal import COpenSSL

/// An RSA key that may verify: 2048 to 4096 bits, built once and shared by all threads.
package struct RSAPublicKey: Sendable, Equatable {
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

    package static func == (left: Self, right: Self) -> Bool { left.digest == right.digest }
}

/// Verifies signatures of one key and one digest. OpenSSL's look-ups and set-up are done once and copied for each
/// signature, which saves a sixth of an RSA verification.
@safe final class EVPVerifier: @unchecked Sendable {
    // @unchecked: `template` is made by `init` and afterwards only copied from, which changes nothing in it.
    private let template: OpaquePointer

    /// - Parameter digest: a fetched `EVP_MD`.
    /// - Returns: nil when the key cannot verify with this digest.
    init?(key: EVPKey, digest: OpaquePointer) {
        defer { ErrorQueue.clear() }
        guard let template = unsafe EVP_MD_CTX_new() else { return nil }
        // The context holds a reference to the key.
        guard unsafe EVP_DigestVerifyInit(template, nil, digest, nil, key.pointer) == 1 else {
            unsafe EVP_MD_CTX_free(template)
            return nil
        }
        unsafe self.template = template
    }

    deinit { unsafe EVP_MD_CTX_free(template) }

    /// One-shot verification of a signature over `message`, in OpenSSL's form.
    func verify(signature: [UInt8], message: [UInt8]) -> Bool {
        // A failed verification leaves an entry that would later look like a TLS failure on this thread.
        defer { ErrorQueue.clear() }
        guard let context = unsafe EVP_MD_CTX_new() else { return false }
        defer { unsafe EVP_MD_CTX_free(context) }
        // Safe: both arrays are valid for their counts during the calls.
        return unsafe EVP_MD_CTX_copy_ex(context, template) == 1
            && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }
}

/// An RSA key that signs RS256 (RFC 7518 §3.3): one of our own, for assertions.
package struct RSAPrivateKey: Sendable {
    /// The modulus size of a new key in bits: the least that RFC 7518 §3.3 allows, and accepted by all gateways.
    package static let freshBits = 2048

    fileprivate let key: EVPKey
}

extension RSAPrivateKey {
    /// - Parameter der: exactly one key, PKCS#8 or PKCS#1; 2048 to 4096 bits.
    package init(der: SecretBytes) throws(KeyError) {
        guard let parsed = EVPKey.parsePrivate(der) else { throw .malformed }
        guard unsafe EVP_PKEY_is_a(parsed.pointer, "RSA") == 1 else { throw .wrongKind }
        let bits = Int(unsafe EVP_PKEY_get_bits(parsed.pointer))
        guard RSAPublicKey.allowedBits.contains(bits) else { throw .unsupportedSize(bits: bits) }
        guard parsed.hasMatchingHalves else { throw .malformed }
        self.init(key: parsed)
    }

    /// Generates a key. Takes about a tenth of a second: not for an event loop.
    package static func generate() throws(KeyError) -> RSAPrivateKey {
        unsafe RSAPrivateKey(
            key: try EVPKey.generate(type: "RSA") { context in
                unsafe EVP_PKEY_CTX_set_rsa_keygen_bits(context, Int32(freshBits)) == 1
            })
    }

    /// Both halves as DER, for `init(der:)`: only to be sealed.
    package func derRepresentation() throws(KeyError) -> SecretBytes { try key.privateDER() }

    /// Modulus and exponent, big-endian without leading zeros. Nil when OpenSSL does not provide them.
    package var publicNumbers: (modulus: [UInt8], exponent: [UInt8])? {
        guard let modulus = key.publicInteger("n"), let exponent = key.publicInteger("e") else { return nil }
        return (modulus, exponent)
    }

    /// RSASSA-PKCS1-v1_5 with SHA-256.
    package func signRS256(_ message: [UInt8]) throws(KeyError) -> [UInt8] {
        guard let signature = unsafe key.sign(message, digest: FetchedAlgorithms.shared.sha256) else {
            throw .internalFailure
        }
        return signature
    }
}

extension EVPKey {
    /// A number of the public half, big-endian without leading zeros.
    fileprivate func publicInteger(_ name: StaticString) -> [UInt8]? {
        defer { ErrorQueue.clear() }
        var number: OpaquePointer?
        // Safe: the number is ours once returned, and freed on every path; `bytes` has the requested size.
        guard unsafe EVP_PKEY_get_bn_param(pointer, ProviderParameters.pointer(name), &number) == 1 else { return nil }
        defer { unsafe BN_free(number) }
        let bits = unsafe BN_num_bits(number)
        guard bits > 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: (Int(bits) + 7) / 8)
        guard unsafe BN_bn2bin(number, &bytes) == bytes.count else { return nil }
        return bytes
    }
}
