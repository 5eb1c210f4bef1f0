internal import COpenSSL

/// A P-256 key that may verify ES256 (RFC 7518 §3.4).
package struct P256PublicKey: Sendable {
    private let key: ECPublicKey

    init(key: ECPublicKey) {
        self.key = key
    }

    /// - Parameters: big-endian coordinates, 32 bytes each; a point of the curve.
    package init(x: [UInt8], y: [UInt8]) throws(KeyError) {
        key = try ECPublicKey(curve: .p256, x: x, y: y)
    }

    /// - Parameter signature: R and S concatenated, 64 bytes; anything else is false.
    package func verifyES256(signature: [UInt8], message: [UInt8]) -> Bool {
        key.verify(signature: signature, message: message)
    }

    /// Both coordinates, big-endian, 32 bytes each.
    package var coordinates: (x: [UInt8], y: [UInt8])? { key.coordinates }
}

/// A P-256 key that signs ES256: Apple's `.p8`, or one of our own for assertions.
package struct P256PrivateKey: Sendable {
    private let key: EVPKey

    private init(key: EVPKey) {
        self.key = key
    }

    /// - Parameter pem: one block, `PRIVATE KEY` (PKCS#8, Apple's form) or `EC PRIVATE KEY` (SEC 1).
    package init(pem: String) throws(KeyError) {
        try self.init(der: PEMBlock.parsePrivateKey(pem))
    }

    /// - Parameter der: exactly one key, PKCS#8 or SEC 1.
    package init(der: SecretBytes) throws(KeyError) {
        guard let parsed = EVPKey.parsePrivate(der) else { throw .malformed }
        guard parsed.isOn(.p256) else { throw .wrongKind }
        guard parsed.hasValidPublicHalf, parsed.hasMatchingHalves else { throw .invalidPoint }
        self.init(key: parsed)
    }

    /// Generates a key.
    package static func generate() throws(KeyError) -> P256PrivateKey {
        defer { ErrorQueue.clear() }
        guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else { throw .internalFailure }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        // Safe: the name is static, and the key is passed to its owner at once.
        guard unsafe EVP_PKEY_keygen_init(context) == 1,
            unsafe EVP_PKEY_CTX_set_group_name(context, ProviderParameters.pointer(Curve.p256.groupName)) == 1,
            unsafe EVP_PKEY_generate(context, &key) == 1, let key = unsafe key
        else { throw .internalFailure }
        return unsafe P256PrivateKey(key: EVPKey(owning: key))
    }

    /// Both halves as SEC 1 DER (RFC 5915), for `init(der:)`: only to be sealed.
    package func derRepresentation() throws(KeyError) -> SecretBytes { try key.privateDER() }

    package var publicKey: P256PublicKey {
        P256PublicKey(key: ECPublicKey(key: key, curve: .p256))
    }

    /// - Returns: R and S concatenated, 64 bytes (RFC 7518 §3.4).
    package func signES256(_ message: [UInt8]) throws(KeyError) -> [UInt8] {
        guard let der = unsafe key.sign(message, digest: FetchedAlgorithms.shared.sha256),
            let raw = ECSignature.raw(der: der, size: Curve.p256.coordinateCount)
        else { throw .internalFailure }
        return raw
    }
}

extension EVPKey {
    /// Whether this is an elliptic-curve key on this curve. OpenSSL names a curve given by explicit parameters only
    /// when they are exactly that curve's.
    fileprivate func isOn(_ curve: Curve) -> Bool {
        defer { ErrorQueue.clear() }
        var name = [CChar](repeating: 0, count: 64)
        var count = 0
        // Safe: OpenSSL writes at most the size of `name`, including the terminating zero.
        guard unsafe EVP_PKEY_is_a(pointer, "EC") == 1,
            unsafe EVP_PKEY_get_group_name(pointer, &name, name.count, &count) == 1
        else { return false }
        let found = name.prefix(count).map { UInt8(bitPattern: $0) }
        return found.elementsEqual(curve.groupName.description.utf8)
    }
}
