internal import COpenSSL

/// OpenSSL's settings for many connections: TLS 1.2 and 1.3, ECDHE with AEAD only.
///
/// Proof for `@unchecked Sendable`: an `SSL_CTX` is not changed after `init`, and OpenSSL counts its references
/// atomically and lets any thread make an `SSL` from it.
@safe package final class TLSContext: @unchecked Sendable {
    /// Which certificates a client believes.
    package enum Trust: Hashable, Sendable {
        /// The system's store.
        case system
        /// The certificates of one PEM file, and no others.
        case file(String)
    }

    let pointer: OpaquePointer
    let isServer: Bool

    private init(isServer: Bool) throws(StreamError) {
        guard let pointer = unsafe SSL_CTX_new(isServer ? TLS_server_method() : TLS_client_method()) else {
            throw .tls(Self.lastError())
        }
        unsafe self.pointer = pointer
        self.isServer = isServer
        _ = unsafe bramley_SSL_CTX_set_min_proto_version(pointer, TLS1_2_VERSION)
        let modes =
            SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
        _ = unsafe bramley_SSL_CTX_set_mode(pointer, Int(modes))
        _ = unsafe bramley_SSL_CTX_set_session_cache_mode(pointer, Int(SSL_SESS_CACHE_OFF))
        let ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20"
        guard unsafe SSL_CTX_set_cipher_list(pointer, ciphers) == 1 else { throw .tls(Self.lastError()) }
        _ = unsafe SSL_CTX_set_options(pointer, bramley_SSL_OP_restrictions())
    }

    deinit {
        unsafe SSL_CTX_free(pointer)
    }

    /// For a client: the peer's certificate and host name are always verified; there is no switch.
    package static func client(trust: Trust = .system) throws(StreamError) -> TLSContext {
        let context = try TLSContext(isServer: false)
        unsafe SSL_CTX_set_verify(context.pointer, SSL_VERIFY_PEER, nil)
        let loaded: Int32 =
            switch trust {
            case .system: unsafe SSL_CTX_set_default_verify_paths(context.pointer)
            case .file(let path): unsafe SSL_CTX_load_verify_file(context.pointer, path)
            }
        guard loaded == 1 else { throw .tls("trust store: \(lastError())") }
        return context
    }

    /// For a server with one certificate chain.
    package static func server(certificateFile: String, privateKeyFile: String) throws(StreamError) -> TLSContext {
        let context = try TLSContext(isServer: true)
        guard unsafe SSL_CTX_use_certificate_chain_file(context.pointer, certificateFile) == 1 else {
            throw .tls("certificate: \(lastError())")
        }
        guard unsafe SSL_CTX_use_PrivateKey_file(context.pointer, privateKeyFile, SSL_FILETYPE_PEM) == 1,
            unsafe SSL_CTX_check_private_key(context.pointer) == 1
        else { throw .tls("private key: \(lastError())") }
        return context
    }

    /// The oldest error of this thread's queue, which is emptied.
    static func lastError() -> String {
        let code = ERR_get_error()
        defer { ERR_clear_error() }
        guard code != 0 else { return "unknown error" }
        var text = [CChar](repeating: 0, count: 256)
        // Invariant: OpenSSL writes at most `text.count` bytes and ends them with NUL.
        unsafe ERR_error_string_n(code, &text, text.count)
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
