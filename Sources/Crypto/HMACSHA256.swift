internal import COpenSSL

/// HMAC with SHA-256 (RFC 2104, FIPS 198-1).
package enum HMACSHA256 {
    /// - Returns: 32 bytes.
    package static func authenticate(key: [UInt8], message: [UInt8]) -> [UInt8] {
        authenticate(key: SecretBytes(key), message: message)
    }

    /// - Returns: 32 bytes.
    package static func authenticate(key: SecretBytes, message: [UInt8]) -> [UInt8] {
        // Safe: `message` is valid for its count during the call.
        unsafe message.withUnsafeBytes { unsafe authenticate(key: key, message: $0) }
    }

    /// Authenticates a message that must not be copied elsewhere.
    /// - Returns: 32 bytes.
    package static func authenticate(key: SecretBytes, message: SecretBytes) -> [UInt8] {
        // Safe: as above.
        message.withBytes { message in unsafe message.withUnsafeBytes { unsafe authenticate(key: key, message: $0) } }
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
