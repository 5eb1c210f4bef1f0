internal import COpenSSL

/// HKDF with SHA-256 (RFC 5869): extract and expand.
package enum HKDF {
    /// The most one call can derive: 255 blocks (RFC 5869 §2.3).
    package static let maximumCount = 255 * 32

    /// - Parameters:
    ///   - salt: may be empty.
    ///   - info: what the key is for; two purposes never share a key.
    ///   - count: 1 to `maximumCount` bytes.
    package static func deriveKey(
        from material: SecretBytes, salt: [UInt8], info: [UInt8], count: Int
    ) -> SecretBytes {
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
