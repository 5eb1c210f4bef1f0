import COpenSSL

/// A private RSA key that signs RS256 (RFC 7518 §3.3).
///
/// `@safe`: the pointer is set once, never leaves this class and is freed only by `deinit`.
///
/// Proof for `@unchecked Sendable`: the one property is constant, nothing here changes the EVP_PKEY behind it, and
/// OpenSSL 3 allows one to be used by several signing contexts at a time (openssl-threads(7)).
@safe
package final class RSASigningKey: @unchecked Sendable {
    private let key: OpaquePointer

    /// With three primes (RFC 8017 §3.2), which take a third of the time to find; a verifier only sees the product.
    /// - Parameter bits: 1024 or more; less has no room for three.
    package init(bits: Int = 2048) {
        let context = unsafe EVP_PKEY_CTX_new_id(EVP_PKEY_RSA, nil)
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard unsafe context != nil, unsafe EVP_PKEY_keygen_init(context) == 1,
            unsafe EVP_PKEY_CTX_set_rsa_keygen_bits(context, Int32(bits)) == 1,
            unsafe EVP_PKEY_CTX_set_rsa_keygen_primes(context, 3) == 1,
            unsafe EVP_PKEY_generate(context, &key) == 1, let key = unsafe key
        else { preconditionFailure("OpenSSL cannot create an RSA key") }
        unsafe self.key = unsafe key
    }

    deinit { unsafe EVP_PKEY_free(key) }

    /// Big-endian, without leading zeros.
    package var modulus: [UInt8] { number("n") }
    package var exponent: [UInt8] { number("e") }

    /// PKCS#1 v1.5 with SHA-256; empty only if OpenSSL fails, which no verifier accepts.
    package func sign(_ message: [UInt8]) -> [UInt8] {
        guard let context = unsafe EVP_MD_CTX_new() else { return [] }
        defer { unsafe EVP_MD_CTX_free(context) }
        // The first call returns the size, the second fills a buffer of that size.
        var count = 0
        guard unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
            unsafe EVP_DigestSign(context, nil, &count, message, message.count) == 1
        else { return [] }
        var signature = [UInt8](repeating: 0, count: count)
        guard unsafe EVP_DigestSign(context, &signature, &count, message, message.count) == 1 else { return [] }
        return Array(signature.prefix(count))
    }

    private func number(_ name: String) -> [UInt8] {
        var value: OpaquePointer?
        guard unsafe EVP_PKEY_get_bn_param(key, name, &value) == 1 else { return [] }
        defer { unsafe BN_free(value) }
        // BN_bn2bin writes BN_num_bytes (a macro over BN_num_bits) bytes.
        var bytes = [UInt8](repeating: 0, count: (Int(unsafe BN_num_bits(value)) + 7) / 8)
        _ = unsafe BN_bn2bin(value, &bytes)
        return bytes
    }
}
