import COpenSSL

enum OpenSSLHash {
    static func sha256(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        var digest = [UInt8](repeating: 0, count: 32)
        // SHA-256 writes 32 bytes, which is what `digest` holds; `bytes` is read for its own count.
        _ = unsafe EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil)
        return digest
    }

    static func randomBytes(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        // `bytes` has exactly `count` bytes. Without random bytes nothing that follows is meaningful.
        precondition(unsafe RAND_bytes(&bytes, Int32(count)) == 1, "OpenSSL has no random bytes")
        return bytes
    }
}
