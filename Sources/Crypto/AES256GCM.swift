internal import COpenSSL

/// AES-256 in Galois/Counter Mode (NIST SP 800-38D), 12-byte nonce, 16-byte tag.
package enum AES256GCM {
    package static let keyCount = 32
    package static let nonceCount = 12
    package static let tagCount = 16

    /// - Parameters:
    ///   - key: 32 bytes.
    ///   - nonce: 12 bytes, never used twice with one key.
    /// - Returns: the ciphertext, then the tag.
    package static func seal(
        _ plaintext: [UInt8], key: SecretBytes, nonce: [UInt8], authenticating context: [UInt8]
    ) -> [UInt8] {
        precondition(key.count == keyCount && nonce.count == nonceCount, "AES-256-GCM: wrong key or nonce length")
        let operation = CipherOperation()
        return unsafe [UInt8](unsafeUninitializedCapacity: plaintext.count + tagCount) { output, initialized in
            // Safe: GCM writes one byte for each of `plaintext`, then the tag into the 16 bytes after them.
            let start = output.baseAddress
            let tag = unsafe start.map { unsafe $0 + plaintext.count }
            let done =
                unsafe operation.start(encrypting: true, key: key, nonce: nonce)
                && operation.update(nil, context)
                && operation.update(start, plaintext)
                && operation.finish(at: tag)
                && EVP_CIPHER_CTX_ctrl(operation.context, EVP_CTRL_AEAD_GET_TAG, Int32(tagCount), tag) == 1
            precondition(done, "AES-256-GCM failed: out of memory")
            initialized = plaintext.count + tagCount
        }
    }

    /// - Parameter sealed: the ciphertext, then the tag.
    /// - Returns: nil unless key, nonce, context and every byte are those it was sealed with.
    package static func open(
        _ sealed: ArraySlice<UInt8>, key: SecretBytes, nonce: [UInt8], authenticating context: [UInt8]
    ) -> [UInt8]? {
        guard key.count == keyCount, nonce.count == nonceCount, sealed.count >= tagCount else { return nil }
        defer { ErrorQueue.clear() }
        let ciphertext = Array(sealed.dropLast(tagCount))
        var tag = Array(sealed.suffix(tagCount))
        let operation = CipherOperation()
        var isAuthentic = false
        let plaintext = unsafe [UInt8](unsafeUninitializedCapacity: ciphertext.count) { output, initialized in
            // Safe: GCM writes one byte for each of `ciphertext`; nothing of it is used unless the tag matches.
            let start = output.baseAddress
            isAuthentic =
                unsafe operation.start(encrypting: false, key: key, nonce: nonce)
                && operation.update(nil, context)
                && operation.update(start, ciphertext)
                && EVP_CIPHER_CTX_ctrl(operation.context, EVP_CTRL_AEAD_SET_TAG, Int32(tagCount), &tag) == 1
                && operation.finish(at: start.map { unsafe $0 + ciphertext.count })
            initialized = isAuthentic ? ciphertext.count : 0
        }
        return isAuthentic ? plaintext : nil
    }
}

/// Owns one `EVP_CIPHER_CTX` for one operation.
@safe private final class CipherOperation {
    // Safe: owned from init to deinit; the class is not Sendable.
    let context: OpaquePointer

    init() {
        guard let context = unsafe EVP_CIPHER_CTX_new() else { preconditionFailure("out of memory") }
        unsafe self.context = context
    }

    deinit {
        // Zeroes the key schedule.
        unsafe EVP_CIPHER_CTX_free(context)
    }

    /// The lengths were checked by the caller; 12 bytes is the default length of a GCM nonce.
    func start(encrypting: Bool, key: SecretBytes, nonce: [UInt8]) -> Bool {
        key.withBytes { key in
            // Safe: the cipher reads 32 bytes of key and 12 of nonce during the call.
            unsafe key.withUnsafeBytes { key in
                unsafe EVP_CipherInit_ex2(
                    context, FetchedAlgorithms.shared.aes256GCM, key.baseAddress?.assumingMemoryBound(to: UInt8.self),
                    nonce, encrypting ? 1 : 0, nil) == 1
            }
        }
    }

    /// - Parameter output: room for `input.count` bytes, or nil to authenticate `input` only.
    func update(_ output: UnsafeMutablePointer<UInt8>?, _ input: [UInt8]) -> Bool {
        guard !input.isEmpty else { return true }
        var written: Int32 = 0
        return unsafe EVP_CipherUpdate(context, output, &written, input, Int32(input.count)) == 1
            && Int(written) == input.count
    }

    /// GCM writes nothing here; it computes the tag, or compares it.
    func finish(at end: UnsafeMutablePointer<UInt8>?) -> Bool {
        var none: UInt8 = 0
        var written: Int32 = 0
        return unsafe withUnsafeMutablePointer(to: &none) { none in
            unsafe EVP_CipherFinal_ex(context, end ?? none, &written) == 1
        }
    }
}
