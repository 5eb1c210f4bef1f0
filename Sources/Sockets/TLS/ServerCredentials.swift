internal import COpenSSL
internal import Coding

/// A server's certificate chain and key, read from PEM and checked against each other.
@safe final class ServerCredentials {
    /// The server's own certificate, then the rest of the chain in the text's order.
    private(set) var chain: [OpaquePointer] = unsafe []
    private var key: OpaquePointer?

    init(certificate: [UInt8], privateKey: [UInt8]) throws(TLSConfigurationError) {
        ERR_clear_error()
        try readChain(MemoryBIO(PastedText.pem(certificate)))
        try readKey(MemoryBIO(PastedText.pem(privateKey)))
        guard let first = unsafe chain.first, let key = unsafe key else { throw .mismatch }
        try unsafe Self.checkKind(key)
        // With mismatched parameters OpenSSL leaves an error behind; the answer is the same.
        defer { ERR_clear_error() }
        guard unsafe X509_check_private_key(first, key) == 1 else { throw .mismatch }
    }

    deinit {
        unsafe chain.forEach { unsafe X509_free($0) }
        unsafe EVP_PKEY_free(key)
    }

    /// Installs both in `context`, which counts its own references.
    func install(in context: OpaquePointer) throws(TLSConfigurationError) {
        guard let first = unsafe chain.first, unsafe SSL_CTX_use_certificate(context, first) == 1 else {
            throw .certificate(TLSContext.lastError())
        }
        for index in unsafe chain.indices.dropFirst() {
            guard unsafe bramley_SSL_CTX_add1_chain_cert(context, chain[index]) == 1 else {
                throw .certificate(TLSContext.lastError())
            }
        }
        guard unsafe SSL_CTX_use_PrivateKey(context, key) == 1 else { throw .privateKey(TLSContext.lastError()) }
    }

    private func readChain(_ text: MemoryBIO) throws(TLSConfigurationError) {
        while let certificate = unsafe PEM_read_bio_X509(text.pointer, nil, Self.refusePassphrase, nil) {
            unsafe chain.append(certificate)
        }
        // At the end of the text OpenSSL reports a missing start line (PEM_R_NO_START_LINE).
        let reason = bramley_ERR_reason(ERR_peek_last_error())
        guard unsafe !chain.isEmpty else { throw .certificate(TLSContext.lastError()) }
        guard reason == PEM_R_NO_START_LINE else { throw .certificate(TLSContext.lastError()) }
        ERR_clear_error()
    }

    private func readKey(_ text: MemoryBIO) throws(TLSConfigurationError) {
        var wasAsked = false
        // Invariant: OpenSSL calls back only during the call, with this pointer.
        unsafe key = unsafe PEM_read_bio_PrivateKey(text.pointer, nil, Self.refusePassphrase, &wasAsked)
        guard !wasAsked else {
            ERR_clear_error()
            throw .encryptedPrivateKey
        }
        guard unsafe key != nil else { throw .privateKey(TLSContext.lastError()) }
        ERR_clear_error()
    }

    /// Without it OpenSSL would prompt on the terminal.
    private static let refusePassphrase:
        @convention(c) (UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?) -> Int32 = {
            _, _, _, wasAsked in
            unsafe wasAsked?.assumingMemoryBound(to: Bool.self).pointee = true
            return -1
        }

    private static func checkKind(_ key: OpaquePointer) throws(TLSConfigurationError) {
        let bits = unsafe EVP_PKEY_get_bits(key)
        switch unsafe EVP_PKEY_get_base_id(key) {
        case EVP_PKEY_RSA:
            guard bits >= 2048 else { throw .unsupportedKey("RSA of \(bits) bits") }
        case EVP_PKEY_EC:
            var name = [CChar](repeating: 0, count: 64)
            var length = 0
            let isNamed = unsafe EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1
            let group = String(decoding: name.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard isNamed, ["prime256v1", "P-256", "secp384r1", "P-384", "secp521r1", "P-521"].contains(group) else {
                throw .unsupportedKey("on the curve \(isNamed ? group : "that its own parameters describe")")
            }
        default:
            guard let name = unsafe EVP_PKEY_get0_type_name(key) else { throw .unsupportedKey("of an unknown kind") }
            throw .unsupportedKey(unsafe String(cString: name))
        }
    }
}

/// Bytes for OpenSSL to read; its copy is zeroed on destruction.
@safe final class MemoryBIO {
    let pointer: OpaquePointer?

    init(_ bytes: [UInt8]) {
        unsafe pointer = BIO_new(BIO_s_mem())
        // Invariant: BIO_write copies `count` bytes out of the array.
        _ = unsafe bytes.withUnsafeBytes { unsafe BIO_write(pointer, $0.baseAddress, Int32(clamping: $0.count)) }
    }

    deinit { unsafe BIO_free_all(pointer) }
}
