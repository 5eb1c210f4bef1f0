import COpenSSL
import Certificates
import Sockets

/// A TLS client between a test and a plain stream, so that every byte can be looked at, held back or repeated.
///
/// Used by the one task that made it.
@safe final class TLSPeer {
    /// The handshake or the session ended with an error; OpenSSL's words (`alert …`), or what the stream said.
    struct Failure: Error {
        var text: String
    }

    let stream: SocketStream
    private let context: OpaquePointer
    private let ssl: OpaquePointer
    private let input: OpaquePointer
    private let output: OpaquePointer

    /// - Parameters:
    ///   - version: the one version it speaks: `TLS1_2_VERSION` or `TLS1_3_VERSION`.
    ///   - session: resumes it.
    init(_ stream: SocketStream, version: Int32 = TLS1_3_VERSION, protocols: [String] = [], session: Session? = nil) {
        self.stream = stream
        unsafe context = SSL_CTX_new(TLS_client_method())
        unsafe ssl = SSL_new(context)
        unsafe input = BIO_new(BIO_s_mem())
        unsafe output = BIO_new(BIO_s_mem())
        unsafe SSL_set_bio(ssl, input, output)
        _ = unsafe SSL_ctrl(ssl, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(version), nil)
        _ = unsafe SSL_ctrl(ssl, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(version), nil)
        let list = protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
        if !list.isEmpty { _ = unsafe SSL_set_alpn_protos(ssl, list, UInt32(list.count)) }
        if let session { _ = unsafe SSL_set_session(ssl, session.pointer) }
        unsafe SSL_set_connect_state(ssl)
    }

    deinit {
        // A session that was not said to be over is not resumed (SSL_free).
        unsafe SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN)
        unsafe SSL_free(ssl)
        unsafe SSL_CTX_free(context)
    }

    // MARK: Steps

    /// What the client would send now.
    func takeOutput() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe BIO_read(output, &bytes, Int32(bytes.count))
        return Array(bytes.prefix(max(0, Int(count))))
    }

    func give(_ bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        _ = unsafe BIO_write(input, bytes, Int32(bytes.count))
    }

    /// One step of the handshake: whether it is done.
    func step() throws -> Bool {
        ERR_clear_error()
        let result = unsafe SSL_do_handshake(ssl)
        if result == 1 { return true }
        guard unsafe SSL_get_error(ssl, result) == SSL_ERROR_WANT_READ else { throw Self.failure() }
        return false
    }

    /// - Parameter pieces: how many bytes each write to the stream has; nil for whole flights.
    func handshake(pieces: Int? = nil) async throws {
        while true {
            let isDone = try step()
            try await send(takeOutput(), pieces: pieces)
            if isDone { return }
            try await receive()
        }
    }

    func send(_ bytes: [UInt8], pieces: Int? = nil) async throws {
        guard !bytes.isEmpty else { return }
        let size = pieces ?? bytes.count
        for start in stride(from: 0, to: bytes.count, by: size) {
            try await stream.write(Array(bytes[start..<min(start + size, bytes.count)]))
            if pieces != nil { await Task.yield() }
        }
    }

    /// Waits for bytes of the server; throws at the end of the stream.
    func receive() async throws {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        let count = try await stream.read(into: &buffer, at: 0)
        guard count > 0 else { throw Failure(text: "end of stream") }
        give(buffer[..<count])
    }

    // MARK: Content

    func write(_ text: String) async throws {
        try await send(seal(text))
    }

    /// `text` in one record.
    func seal(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        _ = unsafe SSL_write(ssl, bytes, Int32(bytes.count))
        return takeOutput()
    }

    /// Deciphered bytes; none at close_notify. Throws when the stream ends without one.
    func read() async throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            ERR_clear_error()
            let result = unsafe SSL_read(ssl, &buffer, Int32(buffer.count))
            if result > 0 { return Array(buffer[..<Int(result)]) }
            switch unsafe SSL_get_error(ssl, result) {
            case SSL_ERROR_ZERO_RETURN: return []
            case SSL_ERROR_WANT_READ: try await receive()
            default: throw Self.failure()
            }
        }
    }

    /// The text up to close_notify.
    func readAll() async throws -> String {
        var all: [UInt8] = []
        while true {
            let bytes = try await read()
            if bytes.isEmpty { return String(decoding: all, as: UTF8.self) }
            all += bytes
        }
    }

    func read(_ count: Int) async throws -> String {
        var all: [UInt8] = []
        while all.count < count { all += try await read() }
        return String(decoding: all, as: UTF8.self)
    }

    func sealCloseNotify() -> [UInt8] {
        _ = unsafe SSL_shutdown(ssl)
        return takeOutput()
    }

    /// A record that changes our key and asks for the server's (RFC 8446 §4.6.3).
    func sealKeyUpdate() -> [UInt8] {
        _ = unsafe SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED)
        _ = unsafe SSL_do_handshake(ssl)
        return takeOutput()
    }

    /// The next hello takes more than one record: it names a long host and every cipher suite there is, and a record has
    /// at most 512 bytes.
    func spreadHello() {
        _ = unsafe SSL_ctrl(ssl, SSL_CTRL_SET_MAX_SEND_FRAGMENT, 512, nil)
        _ = unsafe SSL_set_cipher_list(ssl, "ALL:COMPLEMENTOFALL:@SECLEVEL=0")
        _ = unsafe bramley_SSL_set_tlsext_host_name(ssl, String(repeating: "a", count: 250))
    }

    /// The beginning of a second handshake in TLS 1.2.
    func sealRenegotiation() -> [UInt8] {
        _ = unsafe SSL_renegotiate(ssl)
        _ = unsafe SSL_do_handshake(ssl)
        return takeOutput()
    }

    /// The hello of a resumption, and content behind it that does not wait for the server's (RFC 8446 §2.3).
    func sealEarly(_ text: String) throws -> [UInt8] {
        let bytes = Array(text.utf8)
        var written = 0
        guard unsafe SSL_write_early_data(ssl, bytes, bytes.count, &written) == 1 else { throw Self.failure() }
        return takeOutput()
    }

    // MARK: What came of it

    var earlyDataWasRejected: Bool { unsafe SSL_get_early_data_status(ssl) == SSL_EARLY_DATA_REJECTED }

    var isResumed: Bool { unsafe SSL_session_reused(ssl) == 1 }

    var applicationProtocol: String? {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        unsafe SSL_get0_alpn_selected(ssl, &name, &length)
        guard let name = unsafe name else { return nil }
        return unsafe String(decoding: UnsafeBufferPointer(start: name, count: Int(length)), as: UTF8.self)
    }

    /// The name in the server's certificate.
    var certificateName: String {
        guard let certificate = unsafe SSL_get1_peer_certificate(ssl) else { return "" }
        defer { unsafe X509_free(certificate) }
        var text = [CChar](repeating: 0, count: 128)
        let name = unsafe X509_get_subject_name(certificate)
        let count = unsafe X509_NAME_get_text_by_NID(name, NID_commonName, &text, Int32(text.count))
        return String(decoding: text.prefix(Int(count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// What may be resumed, with the last ticket that came. (In TLS 1.3 it comes after the handshake.)
    var session: Session? {
        guard let session = unsafe SSL_get1_session(ssl) else { return nil }
        return unsafe Session(session)
    }

    @safe final class Session {
        let pointer: OpaquePointer

        init(_ pointer: OpaquePointer) { unsafe self.pointer = pointer }

        deinit { unsafe SSL_SESSION_free(pointer) }

        var ticket: [UInt8] {
            var bytes: UnsafePointer<UInt8>?
            var count = 0
            unsafe SSL_SESSION_get0_ticket(pointer, &bytes, &count)
            return unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
        }

        /// How long the server said that the ticket is good for, in seconds.
        var lifetime: Int { Int(unsafe SSL_SESSION_get_ticket_lifetime_hint(pointer)) }

        /// How much the client believes it may send early, in bytes.
        var earlyData: UInt32 {
            get { unsafe SSL_SESSION_get_max_early_data(pointer) }
            set { _ = unsafe SSL_SESSION_set_max_early_data(pointer, newValue) }
        }

        /// The same with one bit of the ticket changed.
        func changed(at place: Int) -> Session? {
            var encoded = [UInt8](repeating: 0, count: Int(unsafe i2d_SSL_SESSION(pointer, nil)))
            unsafe encoded.withUnsafeMutableBufferPointer { buffer in
                var end = buffer.baseAddress
                _ = unsafe i2d_SSL_SESSION(pointer, &end)
            }
            let ticket = ticket
            guard !ticket.isEmpty,
                let start = encoded.indices.first(where: { encoded[$0...].starts(with: ticket) })
            else { return nil }
            encoded[start + place] ^= 1
            return unsafe encoded.withUnsafeBufferPointer { buffer in
                var start = buffer.baseAddress
                guard let session = unsafe d2i_SSL_SESSION(nil, &start, buffer.count) else { return nil }
                return unsafe Session(session)
            }
        }
    }

    private static func failure() -> Failure {
        var text = [CChar](repeating: 0, count: 256)
        let code = ERR_get_error()
        unsafe ERR_error_string_n(code, &text, text.count)
        return Failure(text: String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }
}

/// An acceptor with a certificate of `TestCertificates`, for HTTP/1.1.
func acceptor(
    _ certificate: String = "good", protocols: [ApplicationProtocol] = [.http1],
    clock: @escaping @Sendable () -> Deadline = { Deadline.now }
) throws -> TLSAcceptor {
    try TLSAcceptor(
        certificate: TestCertificates.pem(certificate), privateKey: TestCertificates.privateKey(certificate),
        protocols: protocols, clock: clock)
}

extension Peer {
    /// A client with a connection of its own, its handshake done.
    func secure(
        version: Int32 = TLS1_3_VERSION, protocols: [String] = [], session: TLSPeer.Session? = nil
    ) async throws -> TLSPeer {
        let client = TLSPeer(try await connect(), version: version, protocols: protocols, session: session)
        try await client.handshake()
        return client
    }
}
