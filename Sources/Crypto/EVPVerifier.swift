internal import COpenSSL

/// Verifies the signatures of one key and one digest. What OpenSSL looks up and sets up for that is done once and copied
/// for each signature: a sixth of the cost of an RSA verification.
@safe final class EVPVerifier: @unchecked Sendable {
    // @unchecked: `template` is made by `init` and only copied from afterwards, which changes nothing in it.
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

    /// One-shot verification of a signature over `message`, in the form OpenSSL takes it.
    func verify(signature: [UInt8], message: [UInt8]) -> Bool {
        // A failed verification leaves an entry that would later be taken for a TLS failure on this thread.
        defer { ErrorQueue.clear() }
        guard let context = unsafe EVP_MD_CTX_new() else { return false }
        defer { unsafe EVP_MD_CTX_free(context) }
        // Safe: both arrays are valid for their counts during the calls.
        return unsafe EVP_MD_CTX_copy_ex(context, template) == 1
            && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }
}
