internal import COpenSSL

/// A P-256 key that may verify ES256 (RFC 7518 §3.4).
package struct P256PublicKey: Sendable {
    let key: ECPublicKey
}

extension P256PublicKey {
    /// - Parameters: big-endian coordinates, 32 bytes each; a point of the curve.
    package init(x: [UInt8], y: [UInt8]) throws(KeyError) {
        self.init(key: try ECPublicKey(curve: .p256, x: x, y: y))
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
    fileprivate let key: EVPKey
}

extension P256PrivateKey {
    /// - Parameter pem: one block, `PRIVATE KEY` (PKCS#8, Apple's form) or `EC PRIVATE KEY` (SEC 1).
    package init(pem: String) throws(KeyError) { try self.init(der: PEMBlock.parsePrivateKey(pem)) }

    /// - Parameter der: exactly one key, PKCS#8 or SEC 1.
    package init(der: SecretBytes) throws(KeyError) {
        guard let parsed = EVPKey.parsePrivate(der) else { throw .malformed }
        guard parsed.isOn(.p256) else { throw .wrongKind }
        guard parsed.hasValidPublicHalf, parsed.hasMatchingHalves else { throw .invalidPoint }
        self.init(key: parsed)
    }

    package static func generate() throws(KeyError) -> P256PrivateKey {
        unsafe P256PrivateKey(
            key: try EVPKey.generate(type: "EC") { context in
                // Safe: the name is static.
                unsafe EVP_PKEY_CTX_set_group_name(context, ProviderParameters.pointer(Curve.p256.groupName)) == 1
            })
    }

    /// Both halves as SEC 1 DER (RFC 5915), for `init(der:)`: only to be sealed.
    package func derRepresentation() throws(KeyError) -> SecretBytes { try key.privateDER() }

    package var publicKey: P256PublicKey { P256PublicKey(key: ECPublicKey(key: key, curve: .p256)) }

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
        return unsafe EVP_PKEY_is_a(pointer, "EC") == 1 && Self.groupName(of: pointer) == curve.groupName.description
    }
}

/// The supported curves, each with its JOSE algorithm (RFC 7518 §3.4).
enum Curve: Sendable {
    case p256
    /// For ES512: only `JWSCheck` verifies with it.
    case p521

    /// Bytes of one coordinate, and of each of R and S.
    var coordinateCount: Int { self == .p256 ? 32 : 66 }
    var groupName: StaticString { self == .p256 ? "prime256v1" : "secp521r1" }

    var digest: OpaquePointer {
        self == .p256 ? unsafe FetchedAlgorithms.shared.sha256 : unsafe FetchedAlgorithms.shared.sha512
    }
}

/// An elliptic-curve key that may verify, on either curve.
struct ECPublicKey: Sendable {
    let key: EVPKey
    let curve: Curve
}

extension ECPublicKey {
    /// - Parameters: big-endian coordinates of exactly the curve's size (RFC 7518 §6.2.1.2).
    init(curve: Curve, x: [UInt8], y: [UInt8]) throws(KeyError) {
        guard x.count == curve.coordinateCount, y.count == curve.coordinateCount else { throw .malformed }
        // SEC 1 §2.3.3: an uncompressed point.
        let point = [0x04] + x + y
        // Safe: the buffer outlives the call that reads the parameters.
        let key = unsafe point.withUnsafeBytes { point in
            var parameters = unsafe [
                ProviderParameters.text("group", curve.groupName),
                ProviderParameters.octets("pub", point),
                OSSL_PARAM_construct_end(),
            ]
            return unsafe EVPKey.makePublic(type: "EC", parameters: &parameters)
        }
        // OpenSSL refuses coordinates off the curve when it builds the key; the check also excludes infinity.
        guard let key, key.hasValidPublicHalf else { throw .invalidPoint }
        self.init(key: key, curve: curve)
    }

    /// - Parameter signature: R and S, big-endian, of the curve's size each (RFC 7518 §3.4).
    func verify(signature: [UInt8], message: [UInt8]) -> Bool {
        guard signature.count == 2 * curve.coordinateCount, let der = ECSignature.der(raw: signature) else {
            return false
        }
        return unsafe EVPVerifier(key: key, digest: curve.digest)?.verify(signature: der, message: message) ?? false
    }

    /// Both coordinates, big-endian, of the curve's size.
    var coordinates: (x: [UInt8], y: [UInt8])? {
        defer { ErrorQueue.clear() }
        let size = curve.coordinateCount
        var point = [UInt8](repeating: 0, count: 1 + 2 * size)
        var count = 0
        // Safe: OpenSSL writes at most the bytes `point` has, or fails.
        guard
            unsafe EVP_PKEY_get_octet_string_param(
                key.pointer, ProviderParameters.pointer("pub"), &point, point.count, &count) == 1,
            count == point.count, point[0] == 0x04
        else { return nil }
        return (Array(point[1...size]), Array(point[(1 + size)...]))
    }
}

/// Converts ECDSA signatures between JOSE's form (R and S concatenated) and OpenSSL's (DER).
enum ECSignature {
    static func der(raw: [UInt8]) -> [UInt8]? {
        let half = raw.count / 2
        // Safe: `signature` owns R and S once `set0` has taken them, and is freed on every path.
        guard let signature = unsafe ECDSA_SIG_new() else { return nil }
        defer { unsafe ECDSA_SIG_free(signature) }
        guard let r = unsafe BN_bin2bn(Array(raw[..<half]), Int32(half), nil) else { return nil }
        guard let s = unsafe BN_bin2bn(Array(raw[half...]), Int32(raw.count - half), nil) else {
            unsafe BN_free(r)
            return nil
        }
        guard unsafe ECDSA_SIG_set0(signature, r, s) == 1 else {
            unsafe BN_free(r)
            unsafe BN_free(s)
            return nil
        }
        var output: UnsafeMutablePointer<UInt8>?
        let count = unsafe i2d_ECDSA_SIG(signature, &output)
        guard count > 0, let output = unsafe output else { return nil }
        defer { unsafe CRYPTO_free(output, nil, 0) }
        return unsafe Array(UnsafeBufferPointer(start: output, count: Int(count)))
    }

    /// - Parameter size: bytes of R and of S.
    static func raw(der: [UInt8], size: Int) -> [UInt8]? {
        // Safe: the parse reads at most `der.count` bytes; R and S belong to `signature`, freed after the copies.
        unsafe der.withUnsafeBufferPointer { der in
            var cursor = der.baseAddress
            guard let signature = unsafe d2i_ECDSA_SIG(nil, &cursor, der.count) else { return nil }
            defer { unsafe ECDSA_SIG_free(signature) }
            var raw = [UInt8](repeating: 0, count: 2 * size)
            let done = unsafe raw.withUnsafeMutableBufferPointer { raw in
                unsafe BN_bn2binpad(ECDSA_SIG_get0_r(signature), raw.baseAddress, Int32(size)) == Int32(size)
                    && BN_bn2binpad(ECDSA_SIG_get0_s(signature), raw.baseAddress.map { unsafe $0 + size }, Int32(size))
                        == Int32(size)
            }
            return done ? raw : nil
        }
    }
}
