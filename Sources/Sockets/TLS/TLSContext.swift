internal import COpenSSL

/// OpenSSL's settings for many connections: TLS 1.2 and 1.3, only ECDHE with AEAD.
///
/// Proof for `@unchecked Sendable`: an `SSL_CTX` is not changed after `init`, and OpenSSL counts its references
/// atomically and lets any thread make an `SSL` from it. The `BIO_METHOD` is not changed after it was made.
@safe package final class TLSContext: @unchecked Sendable {
    let pointer: OpaquePointer
    /// How sessions reach their sockets.
    let transport: OpaquePointer
    let isServer: Bool
    /// Offered by a server through ALPN, the preferred first.
    let protocols: [ApplicationProtocol]
    /// OpenSSL's callback reads them through an unowned pointer.
    private let ticketKeys: TicketKeys?

    /// ECDHE with AEAD, all strong. AES-128 comes first because it is the cheapest on a server; a client that puts
    /// ChaCha20 first has no AES in hardware, and gets it (`SSL_OP_PRIORITIZE_CHACHA`).
    private static let suites13 = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
    private static let suites12 =
        "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
        + "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305"
    private static let groups = "X25519:P-256:P-384"
    /// No SHA-1, no SHA-224.
    private static let signatures =
        "ECDSA+SHA256:ECDSA+SHA384:ECDSA+SHA512:RSA-PSS+SHA256:RSA-PSS+SHA384:RSA-PSS+SHA512:RSA+SHA256:RSA+SHA384:"
        + "RSA+SHA512"

    private init(
        isServer: Bool, protocols: [ApplicationProtocol] = [], ticketKeys: TicketKeys? = nil
    ) throws(StreamError) {
        ERR_clear_error()
        guard let transport = unsafe TLSTransport.makeMethod() else { throw .tls(Self.lastError()) }
        guard let pointer = unsafe SSL_CTX_new(isServer ? TLS_server_method() : TLS_client_method()) else {
            unsafe BIO_meth_free(transport)
            throw .tls(Self.lastError())
        }
        unsafe self.pointer = pointer
        unsafe self.transport = transport
        self.isServer = isServer
        self.protocols = protocols
        self.ticketKeys = ticketKeys
        _ = unsafe bramley_SSL_CTX_set_min_proto_version(pointer, TLS1_2_VERSION)
        // Without a chain of its own OpenSSL would search for one at every handshake: NO_AUTO_CHAIN.
        let modes =
            SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
            | SSL_MODE_NO_AUTO_CHAIN
        _ = unsafe bramley_SSL_CTX_set_mode(pointer, Int(modes))
        // One recv(2) brings a whole record instead of its header first.
        unsafe bramley_SSL_CTX_set_read_ahead(pointer, 1)
        _ = unsafe bramley_SSL_CTX_set_session_cache_mode(pointer, Int(SSL_SESS_CACHE_OFF))
        _ = unsafe SSL_CTX_set_options(pointer, bramley_SSL_OP_restrictions())
        unsafe SSL_CTX_set_security_level(pointer, 2)
        guard unsafe SSL_CTX_set_ciphersuites(pointer, Self.suites13) == 1,
            unsafe SSL_CTX_set_cipher_list(pointer, Self.suites12) == 1,
            unsafe bramley_SSL_CTX_set1_groups_list(pointer, Self.groups) == 1,
            unsafe bramley_SSL_CTX_set1_sigalgs_list(pointer, Self.signatures) == 1
        else { throw .tls(Self.lastError()) }
    }

    deinit {
        unsafe SSL_CTX_free(pointer)
        unsafe BIO_meth_free(transport)
    }

    /// For a client: the peer's certificate and host name are always verified; there is no switch.
    /// - Parameter file: the only trusted certificates, as PEM; nil trusts those of the system's store.
    package static func client(trusting file: String? = nil) throws(StreamError) -> TLSContext {
        let context = try TLSContext(isServer: false)
        unsafe SSL_CTX_set_verify(context.pointer, SSL_VERIFY_PEER, nil)
        let loaded: Int32 =
            if let file {
                unsafe SSL_CTX_load_verify_file(context.pointer, file)
            } else {
                unsafe SSL_CTX_set_default_verify_paths(context.pointer)
            }
        guard loaded == 1 else { throw .tls("trust store: \(lastError())") }
        return context
    }

    /// Only for diagnosis, with nothing secret to send: the peer is not verified.
    package static func unverified() throws(StreamError) -> TLSContext {
        let context = try TLSContext(isServer: false)
        unsafe SSL_CTX_set_verify(context.pointer, SSL_VERIFY_NONE, nil)
        return context
    }

    /// For a server with one certificate chain, in PEM like its key. Without `ticketKeys` no session is resumed.
    ///
    /// The name a client asks for (SNI) is ignored: there is one certificate, and a client that does not find its name
    /// in it explains that better than an alert could. Health checks by address work, too. `Host` decides which hosts
    /// are served.
    package static func server(
        certificate: [UInt8], privateKey: [UInt8], protocols: [ApplicationProtocol] = [], ticketKeys: TicketKeys? = nil
    ) throws(TLSConfigurationError) -> TLSContext {
        let credentials = try ServerCredentials(certificate: certificate, privateKey: privateKey)
        let context: TLSContext
        do {
            context = try TLSContext(isServer: true, protocols: protocols, ticketKeys: ticketKeys)
        } catch {
            throw .library("\(error)")
        }
        try unsafe credentials.install(in: context.pointer)
        _ = unsafe SSL_CTX_set_options(context.pointer, bramley_SSL_OP_server_preference())
        // 0-RTT can be replayed (RFC 8446 §8): none is permitted, and `SSL_read_early_data` is never called.
        _ = unsafe SSL_CTX_set_max_early_data(context.pointer, 0)
        if !protocols.isEmpty {
            // Invariant: the callback's argument is this context, which every session made from it keeps alive.
            unsafe SSL_CTX_set_alpn_select_cb(
                context.pointer, chooseProtocol, Unmanaged.passUnretained(context).toOpaque())
        }
        context.prepareTickets()
        return context
    }

    private func prepareTickets() {
        guard let ticketKeys else {
            _ = unsafe SSL_CTX_set_options(pointer, bramley_SSL_OP_NO_TICKET())
            _ = unsafe SSL_CTX_set_num_tickets(pointer, 0)
            return
        }
        // Invariant: `self` keeps the keys alive as long as the context.
        _ = unsafe bramley_SSL_CTX_set_app_data(pointer, Unmanaged.passUnretained(ticketKeys).toOpaque())
        _ = unsafe SSL_CTX_set_tlsext_ticket_key_evp_cb(pointer, TicketKeys.callback)
        _ = unsafe SSL_CTX_set_timeout(pointer, TicketKeys.ticketLifetime)
        _ = unsafe SSL_CTX_set_session_id_context(pointer, Self.sessionContext, UInt32(Self.sessionContext.count))
        _ = unsafe SSL_CTX_set_num_tickets(pointer, 2)
    }

    /// OpenSSL refuses tickets of another service that happened to share keys (RFC 5077 §5.2).
    private static let sessionContext = Array("bramley".utf8)

    /// RFC 7301 §3.2: ours in our order; no overlap ends the handshake with `no_application_protocol`. A client without
    /// the extension never gets here, and speaks HTTP/1.1.
    private static let chooseProtocol:
        @convention(c) (
            OpaquePointer?, UnsafeMutablePointer<UnsafePointer<UInt8>?>?, UnsafeMutablePointer<UInt8>?,
            UnsafePointer<UInt8>?, UInt32, UnsafeMutableRawPointer?
        ) -> Int32 = { _, chosen, chosenLength, offered, length, argument in
            // Invariant: OpenSSL passes a validated list of `length` bytes and copies the choice from it.
            guard let chosen = unsafe chosen, let chosenLength = unsafe chosenLength, let offered = unsafe offered,
                let argument = unsafe argument
            else { return SSL_TLSEXT_ERR_ALERT_FATAL }
            let context = unsafe Unmanaged<TLSContext>.fromOpaque(argument).takeUnretainedValue()
            let list = unsafe UnsafeBufferPointer(start: offered, count: Int(length))
            for candidate in context.protocols {
                var start = 0
                while start < list.count {
                    let end = unsafe start + 1 + Int(list[start])
                    guard end <= list.count else { return SSL_TLSEXT_ERR_ALERT_FATAL }
                    if unsafe candidate.rawValue.utf8.elementsEqual(list[(start + 1)..<end]) {
                        unsafe chosen.pointee = unsafe offered + start + 1
                        unsafe chosenLength.pointee = unsafe list[start]
                        return SSL_TLSEXT_ERR_OK
                    }
                    start = end
                }
            }
            return SSL_TLSEXT_ERR_ALERT_FATAL
        }

    /// The oldest error of this thread's queue; empties the queue.
    static func lastError() -> String {
        let code = ERR_get_error()
        defer { ERR_clear_error() }
        guard code != 0 else { return "unknown error" }
        var text = [CChar](repeating: 0, count: 256)
        // Invariant: OpenSSL writes at most `text.count` bytes and ends them with NUL.
        unsafe ERR_error_string_n(code, &text, text.count)
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The certificate of a TLS server, in DER: for diagnosis of this machine's listener. Call it on the loop.
    ///
    /// Reported whether trusted or not; the connection is closed here, and nothing is sent over it.
    /// - Throws: when nothing listens, or the handshake fails.
    package static func certificate(
        at address: SocketAddress, serverName: String, on loop: EventLoop, deadline: Deadline
    ) async throws(StreamError) -> [UInt8] {
        let context = try unverified()
        let stream = try await SocketStream.connect(to: [address], on: loop, deadline: deadline)
        defer { stream.close() }
        stream.setDeadline(deadline)
        try await stream.startTLS(context, serverName: serverName)
        guard let certificate = stream.peerCertificate else { throw .tls("the server sent no certificate") }
        return certificate
    }
}

/// The protocol inside TLS, negotiated in the handshake (ALPN, RFC 7301).
package enum ApplicationProtocol: String, CaseIterable, Hashable, Sendable {
    case http2 = "h2"
    case http1 = "http/1.1"

    init?(name: some Collection<UInt8>) {
        guard let found = Self.allCases.first(where: { $0.rawValue.utf8.elementsEqual(name) }) else { return nil }
        self = found
    }
}

/// Why a certificate and its key cannot be served; each gives one line for the operator.
package enum TLSConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The text contains no certificate, or one of the chain cannot be read; OpenSSL's text.
    case certificate(String)
    case privateKey(String)
    case encryptedPrivateKey
    /// Not RSA of 2048 bits or more, P-256, P-384 or P-521.
    case unsupportedKey(String)
    case mismatch
    case library(String)

    package var description: String {
        switch self {
        case .certificate(let cause): "the certificate is not a readable PEM chain (\(cause))"
        case .privateKey(let cause): "the private key is not a readable PEM key (\(cause))"
        case .encryptedPrivateKey: "the private key is protected by a passphrase; store it without one"
        case .unsupportedKey(let kind):
            "the private key is \(kind); browsers accept RSA of 2048 bits or more, P-256, P-384 and P-521"
        case .mismatch: "the private key does not belong to the first certificate of the chain"
        case .library(let cause): "TLS cannot be set up (\(cause))"
        }
    }
}
