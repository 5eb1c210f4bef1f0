internal import COpenSSL

/// Where unpredictable bytes come from; tests give their own.
package protocol RandomSource: Sendable {
    /// - Parameter count: not negative.
    func bytes(_ count: Int) -> [UInt8]
}

/// OpenSSL's generator, seeded by the kernel.
package struct SystemRandom: RandomSource {
    package init() {}

    package func bytes(_ count: Int) -> [UInt8] {
        // Safe: RAND_bytes fills all of the buffer or fails, and we do not go on when it fails: predictable
        // tokens are worse than none.
        unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            precondition(unsafe RAND_bytes(buffer.baseAddress, Int32(count)) == 1, "The system gives no randomness.")
            initialized = count
        }
    }
}
