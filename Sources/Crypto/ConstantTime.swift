internal import COpenSSL

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
