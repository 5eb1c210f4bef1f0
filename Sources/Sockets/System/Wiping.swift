internal import COpenSSL

extension [UInt8] {
    /// Overwrites the bytes in a way that no optimiser removes, and empties the array. The caller must hold the only
    /// reference: of a shared array a copy would be overwritten, and the bytes would remain.
    package mutating func wipe() {
        // Safe: the buffer is valid for `count` bytes during the call.
        unsafe withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
        self = []
    }
}
