internal import COpenSSL

/// HMAC with SHA-256 (RFC 2104, FIPS 198-1).
package enum HMACSHA256 {
    /// - Returns: 32 bytes.
    package static func authenticate(key: [UInt8], message: [UInt8]) -> [UInt8] {
        authenticate(key: SecretBytes(key), message: message)
    }

    /// - Returns: 32 bytes.
    package static func authenticate(key: SecretBytes, message: [UInt8]) -> [UInt8] {
        // Safe: all buffers are valid for their counts during the call, and OpenSSL writes at most `output.count`.
        key.withBytes { key in
            unsafe key.withUnsafeBytes { key in
                unsafe [UInt8](unsafeUninitializedCapacity: 32) { output, initialized in
                    unsafe EVP_Q_mac(
                        nil, "HMAC", nil, "SHA256", nil, key.baseAddress, key.count, message, message.count,
                        output.baseAddress, output.count, &initialized)
                    precondition(initialized == 32, "HMAC-SHA-256 failed: out of memory")
                }
            }
        }
    }

    /// Of a message that must stand nowhere else.
    /// - Returns: 32 bytes.
    package static func authenticate(key: SecretBytes, message: SecretBytes) -> [UInt8] {
        // Safe: as above.
        key.withBytes { key in
            message.withBytes { message in
                unsafe key.withUnsafeBytes { key in
                    unsafe message.withUnsafeBytes { message in
                        unsafe [UInt8](unsafeUninitializedCapacity: 32) { output, initialized in
                            unsafe EVP_Q_mac(
                                nil, "HMAC", nil, "SHA256", nil, key.baseAddress, key.count,
                                message.baseAddress?.assumingMemoryBound(to: UInt8.self), message.count,
                                output.baseAddress, output.count, &initialized)
                            precondition(initialized == 32, "HMAC-SHA-256 failed: out of memory")
                        }
                    }
                }
            }
        }
    }
}
