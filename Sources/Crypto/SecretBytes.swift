internal import COpenSSL

/// Key material: zeroed with its last copy, prints `<redacted>`, has no `==` (use `constantTimeEquals`).
package struct SecretBytes: Redacted {
    private let storage: Storage

    /// Copies the bytes. The caller's array is unchanged: see `init(consuming:)`.
    package init(_ bytes: [UInt8]) {
        // Safe: the buffer has room for `count` bytes.
        storage = unsafe Storage(count: bytes.count) { buffer in unsafe buffer.copyBytes(from: bytes) }
    }

    /// Copies the bytes and zeroes the array they came in.
    package init(consuming bytes: inout [UInt8]) {
        self.init(bytes)
        // Safe: the buffer is valid for `count` bytes during the call.
        unsafe bytes.withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
        bytes = []
    }

    /// - Parameter fill: writes all `count` bytes of the buffer.
    init(count: Int, fill: (UnsafeMutableRawBufferPointer) -> Void) {
        storage = unsafe Storage(count: count, fill: fill)
    }

    /// Fresh random bytes from OpenSSL's generator for private material.
    package static func random(count: Int) -> SecretBytes {
        // Safe: the buffer is valid for `count` bytes during the call.
        unsafe SecretBytes(count: count) { buffer in
            let status = unsafe RAND_priv_bytes(
                buffer.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(buffer.count))
            precondition(status == 1, "No randomness is available.")
        }
    }

    package var count: Int { unsafe storage.buffer.count }

    /// Lends the bytes for the duration of the call.
    package func withBytes<Result>(_ body: (RawSpan) -> Result) -> Result {
        // Safe: the span cannot leave `body`, and `storage` keeps the memory alive until after it. (The buffer is
        // copied to a constant first: borrowing the span from inside the object crashes the 6.3 optimiser.)
        defer { withExtendedLifetime(storage) {} }
        let buffer = unsafe storage.buffer
        return body(unsafe buffer.bytes)
    }

    /// Appends the bytes to a buffer whose owner has reserved room for them and overwrites it afterwards.
    package func append(to output: inout [UInt8]) {
        withBytes { span in unsafe span.withUnsafeBytes { unsafe output.append(contentsOf: $0) } }
    }

    /// Calls `body` with each byte, for writing them in another form.
    package func forEach(_ body: (UInt8) -> Void) {
        withBytes { span in
            unsafe span.withUnsafeBytes { bytes in
                for index in 0..<bytes.count { body(unsafe bytes[index]) }
            }
        }
    }

    /// A copy without the protection of this type, for a key file. Review every call.
    package func reveal() -> [UInt8] { withBytes { span in unsafe span.withUnsafeBytes { unsafe Array($0) } } }

    /// Owns the memory.
    ///
    /// Proof for `@unchecked Sendable`: written only by `init`, before anyone can see it; read-only until `deinit`.
    @safe private final class Storage: @unchecked Sendable {
        let buffer: UnsafeMutableRawBufferPointer

        init(count: Int, fill: (UnsafeMutableRawBufferPointer) -> Void) {
            unsafe buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
            unsafe fill(buffer)
        }

        deinit {
            unsafe OPENSSL_cleanse(buffer.baseAddress, buffer.count)
            unsafe buffer.deallocate()
        }
    }
}

package func constantTimeEquals(_ left: SecretBytes, _ right: SecretBytes) -> Bool {
    left.withBytes { left in
        right.withBytes { right in
            guard left.byteCount == right.byteCount else { return false }
            // Safe: both buffers are valid for `byteCount` bytes during the call.
            return unsafe left.withUnsafeBytes { left in
                unsafe right.withUnsafeBytes { right in
                    unsafe CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0
                }
            }
        }
    }
}

/// Whether both are equal, in a time that depends only on the lengths. Different lengths are unequal.
package func constantTimeEquals(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    // Safe: both buffers are valid for `count` bytes during the call.
    return unsafe left.withUnsafeBytes { left in
        unsafe right.withUnsafeBytes { right in
            unsafe CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0
        }
    }
}

/// Whether both are equal, in constant time.
package func constantTimeEquals(_ left: Digest256, _ right: Digest256) -> Bool {
    let difference =
        (left.words.0 ^ right.words.0) | (left.words.1 ^ right.words.1) | (left.words.2 ^ right.words.2)
        | (left.words.3 ^ right.words.3)
    return difference == 0
}
