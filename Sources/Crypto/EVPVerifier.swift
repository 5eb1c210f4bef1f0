internal import COpenSSL

/// Verifies signatures of one key and one digest. OpenSSL's look-ups and set-up are done once and copied for each
/// signature, which saves a sixth of an RSA verification.
@safe final class EVPVerifier: @unchecked Sendable {
    // @unchecked: `template` is made by `init` and afterwards only copied from, which changes nothing in it.
    private let template: OpaquePointer

    /// - Parameter digest: a fetched `EVP_MD`.
    /// - Returns: nil when the key cannot verify with this digest.
    init?(key: EVPKey, digest: OpaquePointer) {
        defer { ErrorQueue.clear() }
        guard let template = unsafe EVP_MD_CTX_new() else { return nil }
        // The context holds a reference to the key.
        guard unsafe EVP_DigestVerifyInit(template, nil, digest, nil, key.pointer) == 1 else {
            unsafe EVP_MD_CTX_free(template)
            return nil
        }
        unsafe self.template = template
    }

    deinit {
        unsafe EVP_MD_CTX_free(template)
    }

    /// One-shot verification of a signature over `message`, in OpenSSL's form.
    func verify(signature: [UInt8], message: [UInt8]) -> Bool {
        // A failed verification leaves an entry that would later look like a TLS failure on this thread.
        defer { ErrorQueue.clear() }
        guard let context = unsafe EVP_MD_CTX_new() else { return false }
        defer { unsafe EVP_MD_CTX_free(context) }
        // Safe: both arrays are valid for their counts during the calls.
        return unsafe EVP_MD_CTX_copy_ex(context, template) == 1
            && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }
}
