internal import COpenSSL

@safe final class EVPKey: @unchecked Sendable {
    // @unchecked: the key is complete before it comes here and nothing of ours changes it afterwards. OpenSSL allows
    // concurrent use of one EVP_PKEY by separate contexts (openssl-threads(7)); its own internal caches are locked.
    let pointer: OpaquePointer

    /// `EVP_PKEY_PUBLIC_KEY`: a key's domain parameters, other parameters and public half. Swift cannot import a macro
    /// made of macros; core_dispatch.h fixes the values.
    private static let publicKeySelection: Int32 = 0x04 | 0x80 | 0x02

    init(owning pointer: OpaquePointer) { unsafe self.pointer = pointer }

    deinit { unsafe EVP_PKEY_free(pointer) }

    /// Builds a public key from parameters that end with `OSSL_PARAM_construct_end()`.
    ///
    /// - Parameter type: `RSA` or `EC`.
    static func makePublic(type: String, parameters: UnsafeMutablePointer<OSSL_PARAM>) -> EVPKey? {
        defer { ErrorQueue.clear() }
        // Safe: the context is freed on every path; the caller's parameters outlive the call.
        guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, type, nil) else { return nil }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard unsafe EVP_PKEY_fromdata_init(context) == 1,
            unsafe EVP_PKEY_fromdata(context, &key, publicKeySelection, parameters) == 1, let key = unsafe key
        else { return nil }
        return unsafe EVPKey(owning: key)
    }

    /// Generates a key.
    ///
    /// - Parameters:
    ///   - type: `RSA` or `EC`.
    ///   - configure: sets what the type needs, such as a size; false when that failed.
    static func generate(type: String, _ configure: (OpaquePointer) -> Bool) throws(KeyError) -> EVPKey {
        defer { ErrorQueue.clear() }
        guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, type, nil) else { throw .internalFailure }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        // Safe: the key is passed to its owner at once.
        guard unsafe EVP_PKEY_keygen_init(context) == 1, unsafe configure(context),
            unsafe EVP_PKEY_generate(context, &key) == 1, let key = unsafe key
        else { throw .internalFailure }
        return unsafe EVPKey(owning: key)
    }

    /// - Parameter der: exactly one private key, PKCS#8 or in the older form of its type; otherwise nil.
    static func parsePrivate(_ der: SecretBytes) -> EVPKey? {
        defer { ErrorQueue.clear() }
        // Safe: the parse reads at most `count` bytes and moves `cursor` to where it stopped.
        return der.withBytes { span in
            unsafe span.withUnsafeBytes { bytes in
                var cursor = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
                guard let key = unsafe d2i_AutoPrivateKey(nil, &cursor, bytes.count) else { return nil }
                let owned = unsafe EVPKey(owning: key)
                let end = unsafe bytes.baseAddress.map { unsafe $0 + bytes.count }
                return unsafe UnsafeRawPointer(cursor) == end ? owned : nil
            }
        }
    }

    /// Both halves, in the older form of the key's type (RFC 5915, RFC 8017 §A.1.2), which `parsePrivate` reads.
    func privateDER() throws(KeyError) -> SecretBytes {
        defer { ErrorQueue.clear() }
        let count = unsafe i2d_PrivateKey(pointer, nil)
        guard count > 0 else { throw .internalFailure }
        var written: Int32 = 0
        // Safe: the buffer has the size that OpenSSL requested just before.
        let bytes = unsafe SecretBytes(count: Int(count)) { buffer in
            var cursor = unsafe buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
            written = unsafe i2d_PrivateKey(pointer, &cursor)
        }
        guard written == count else { throw .internalFailure }
        return bytes
    }

    /// Whether the public half is valid for its type: for EC, a point of the curve other than infinity.
    var hasValidPublicHalf: Bool { unsafe passes(EVP_PKEY_public_check) }

    /// Whether both halves are valid and belong together.
    var hasMatchingHalves: Bool { unsafe passes(EVP_PKEY_pairwise_check) }

    private func passes(_ check: (OpaquePointer?) -> Int32) -> Bool {
        defer { ErrorQueue.clear() }
        guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, pointer, nil) else { return false }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        return unsafe check(context) == 1
    }

    /// OpenSSL's name of an elliptic key's curve: `prime256v1`.
    static func groupName(of key: OpaquePointer) -> String? {
        var name = [CChar](repeating: 0, count: 64)
        var count = 0
        // Safe: OpenSSL writes at most the size of `name`, including the terminating zero.
        guard unsafe EVP_PKEY_get_group_name(key, &name, name.count, &count) == 1 else { return nil }
        return String(decoding: name.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// One-shot signature over `message`, in OpenSSL's form (for EC: DER).
    func sign(_ message: [UInt8], digest: OpaquePointer) -> [UInt8]? {
        defer { ErrorQueue.clear() }
        guard let context = unsafe EVP_MD_CTX_new() else { return nil }
        defer { unsafe EVP_MD_CTX_free(context) }
        var count = Int(unsafe EVP_PKEY_get_size(pointer))
        var signature = [UInt8](repeating: 0, count: max(count, 0))
        // Safe: OpenSSL writes at most the `count` bytes `signature` has.
        guard unsafe EVP_DigestSignInit(context, nil, digest, nil, pointer) == 1,
            unsafe EVP_DigestSign(context, &signature, &count, message, message.count) == 1
        else { return nil }
        signature.removeSubrange(count...)
        return signature
    }
}

/// OpenSSL's error queue of this thread.
enum ErrorQueue {
    /// TLS reads this queue to tell a failure from a wait (SSL_get_error(3)), so code that causes an entry removes it.
    static func clear() { ERR_clear_error() }
}
