internal import COpenSSL

/// HMAC with SHA-256 (RFC 2104, FIPS 198-1).
package enum HMACSHA256 {
    /// - Returns: 32 bytes.
    package static func authenticate(key: SecretBytes, message: [UInt8]) -> [UInt8] {
        // Safe: `message` is valid for its count during the call.
        unsafe message.withUnsafeBytes { unsafe authenticate(key: key, message: $0) }
    }

    private static func authenticate(key: SecretBytes, message: UnsafeRawBufferPointer) -> [UInt8] {
        guard let context = unsafe EVP_MAC_CTX_new(FetchedAlgorithms.shared.hmac) else {
            preconditionFailure("out of memory")
        }
        // Zeroes data derived from the key.
        defer { unsafe EVP_MAC_CTX_free(context) }
        // Safe: all buffers are valid for their counts during the calls, and OpenSSL writes at most `output.count`.
        return key.withBytes { key in
            unsafe key.withUnsafeBytes { key in
                unsafe [UInt8](unsafeUninitializedCapacity: 32) { output, initialized in
                    let parameters = unsafe [ProviderParameters.text("digest", "SHA256"), OSSL_PARAM_construct_end()]
                    let done =
                        unsafe EVP_MAC_init(
                            context, key.baseAddress?.assumingMemoryBound(to: UInt8.self), key.count, parameters) == 1
                        && EVP_MAC_update(
                            context, message.baseAddress?.assumingMemoryBound(to: UInt8.self), message.count) == 1
                        && EVP_MAC_final(context, output.baseAddress, &initialized, output.count) == 1
                    precondition(done && initialized == 32, "HMAC-SHA-256 failed: out of memory")
                }
            }
        }
    }
}

/// HKDF with SHA-256 (RFC 5869): extract and expand.
package enum HKDF {
    /// The most one call can derive: 255 blocks (RFC 5869 §2.3).
    package static let maximumCount = 255 * 32

    /// - Parameters:
    ///   - salt: may be empty.
    ///   - info: what the key is for; two purposes never share a key.
    ///   - count: 1 to `maximumCount` bytes.
    package static func deriveKey(from material: SecretBytes, salt: [UInt8], info: [UInt8], count: Int) -> SecretBytes {
        precondition((1...maximumCount).contains(count), "HKDF derives 1 to \(maximumCount) bytes.")
        // Safe: `derive` writes all of `output` or fails.
        return unsafe SecretBytes(count: count) { output in
            let done = material.withBytes { material in
                unsafe derive(into: output, material: material, salt: salt, info: info)
            }
            precondition(done, "HKDF failed: out of memory")
        }
    }

    private static func derive(
        into output: UnsafeMutableRawBufferPointer, material: RawSpan, salt: [UInt8], info: [UInt8]
    ) -> Bool {
        guard let context = unsafe EVP_KDF_CTX_new(FetchedAlgorithms.shared.hkdf) else { return false }
        defer { unsafe EVP_KDF_CTX_free(context) }
        // Safe: the buffers outlive the call that reads them through the parameters.
        return unsafe material.withUnsafeBytes { material in
            unsafe salt.withUnsafeBytes { salt in
                unsafe info.withUnsafeBytes { info in
                    let parameters = unsafe [
                        ProviderParameters.text("digest", "SHA256"),
                        ProviderParameters.octets("key", material),
                        ProviderParameters.octets("salt", salt),
                        ProviderParameters.octets("info", info),
                        OSSL_PARAM_construct_end(),
                    ]
                    return unsafe EVP_KDF_derive(
                        context, output.baseAddress?.assumingMemoryBound(to: UInt8.self), output.count,
                        parameters) == 1
                }
            }
        }
    }
}
