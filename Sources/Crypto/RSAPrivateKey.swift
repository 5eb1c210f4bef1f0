internal import COpenSSL

/// An RSA key that signs RS256 (RFC 7518 §3.3): one of our own, for assertions.
package struct RSAPrivateKey: Sendable {
    /// The modulus size of a new key in bits: the least that RFC 7518 §3.3 allows, and accepted by all gateways.
    package static let freshBits = 2048

    private let key: EVPKey

    private init(key: EVPKey) {
        self.key = key
    }

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
        defer { ErrorQueue.clear() }
        guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "RSA", nil) else { throw .internalFailure }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        // Safe: the key is passed to its owner at once.
        guard unsafe EVP_PKEY_keygen_init(context) == 1,
            unsafe EVP_PKEY_CTX_set_rsa_keygen_bits(context, Int32(freshBits)) == 1,
            unsafe EVP_PKEY_generate(context, &key) == 1, let key = unsafe key
        else { throw .internalFailure }
        return unsafe RSAPrivateKey(key: EVPKey(owning: key))
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
