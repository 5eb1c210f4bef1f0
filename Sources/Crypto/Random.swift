internal import COpenSSL
internal import Synchronization

/// A source of unpredictable bytes; tests inject their own.
package protocol RandomSource: Sendable {
    /// - Parameter count: not negative.
    func bytes(_ count: Int) -> [UInt8]
}

/// OpenSSL's generator, seeded by the kernel.
package struct SystemRandom: RandomSource {
    package init() {}

    package func bytes(_ count: Int) -> [UInt8] {
        // Safe: RAND_bytes fills the whole buffer or fails, and predictable tokens are worse than none.
        unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            precondition(unsafe RAND_bytes(buffer.baseAddress, Int32(count)) == 1, "No randomness is available.")
            initialized = count
        }
    }
}

/// Another source's bytes, fetched many at a time: for public identifiers, unpredictable but not secret.
package final class BufferedRandom: RandomSource {
    private static let capacity = 1_024

    private let source: any RandomSource
    private let rest = Mutex<[UInt8]>([])

    package init(_ source: any RandomSource) { self.source = source }

    package func bytes(_ count: Int) -> [UInt8] {
        rest.withLock { rest in
            if rest.count < count { rest = source.bytes(max(Self.capacity, count)) }
            let taken = Array(rest.suffix(count))
            rest.removeLast(count)
            return taken
        }
    }
}
