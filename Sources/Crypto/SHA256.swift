internal import COpenSSL

/// SHA-256 (FIPS 180-4) in one call. Code that hashes for every request should keep a `SHA256Hasher`.
package enum SHA256 {
    package static func hash(_ bytes: [UInt8]) -> Digest256 {
        var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        // Safe: `output` has the 32 bytes SHA-256 writes, `input` is valid for `count` bytes, both during the call.
        let status = unsafe withUnsafeMutableBytes(of: &words) { output in
            unsafe bytes.withUnsafeBytes { input in
                unsafe EVP_Digest(
                    input.baseAddress, input.count, output.baseAddress?.assumingMemoryBound(to: UInt8.self), nil,
                    FetchedAlgorithms.shared.sha256, nil)
            }
        }
        precondition(status == 1, "SHA-256 failed: out of memory")
        return Digest256(bigEndian: words)
    }

    package static func hash(utf8 text: String) -> Digest256 { hash(Array(text.utf8)) }
}

/// SHA-256 with one context for many hashes: a third of the cost for short inputs. One per event loop.
@safe package final class SHA256Hasher {
    // Safe: owned by this object from init to deinit; not Sendable, so never used by two threads at once.
    private let context: OpaquePointer

    package init() {
        guard let context = unsafe EVP_MD_CTX_new() else { preconditionFailure("out of memory") }
        unsafe self.context = context
    }

    deinit { unsafe EVP_MD_CTX_free(context) }

    package func hash(_ span: Span<UInt8>) -> Digest256 {
        var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        // Safe: `output` has the 32 bytes SHA-256 writes, `input` is valid for `count` bytes, both during the calls.
        let done = unsafe withUnsafeMutableBytes(of: &words) { output in
            unsafe span.withUnsafeBytes { input in
                unsafe EVP_DigestInit_ex2(context, FetchedAlgorithms.shared.sha256, nil) == 1
                    && EVP_DigestUpdate(context, input.baseAddress, input.count) == 1
                    && EVP_DigestFinal_ex(context, output.baseAddress?.assumingMemoryBound(to: UInt8.self), nil) == 1
            }
        }
        precondition(done, "SHA-256 failed: out of memory")
        return Digest256(bigEndian: words)
    }
}

extension Digest256 {
    /// - Parameter words: in memory order, most significant byte first.
    fileprivate init(bigEndian words: (UInt64, UInt64, UInt64, UInt64)) {
        self.init(
            words: (
                UInt64(bigEndian: words.0), UInt64(bigEndian: words.1), UInt64(bigEndian: words.2),
                UInt64(bigEndian: words.3)
            ))
    }
}
