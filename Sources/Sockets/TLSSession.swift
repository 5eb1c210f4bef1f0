internal import COpenSSL
internal import Glibc

/// The TLS state of one stream. OpenSSL reads and writes the descriptor itself (`SSL_set_fd` costs a quarter less
/// memory an idle connection than memory BIOs); this class turns its WANT_READ and WANT_WRITE into waits.
///
/// Loop-bound like the stream that owns it; not Sendable.
@safe final class TLSSession {
    private let ssl: OpaquePointer
    private let context: TLSContext

    init(_ context: TLSContext, descriptor: Int32, serverName: String?) throws(StreamError) {
        guard let ssl = unsafe SSL_new(context.pointer) else { throw .tls(TLSContext.lastError()) }
        unsafe self.ssl = ssl
        self.context = context
        guard unsafe SSL_set_fd(ssl, descriptor) == 1 else { throw .tls(TLSContext.lastError()) }
        if context.isServer {
            unsafe SSL_set_accept_state(ssl)
        } else {
            unsafe SSL_set_connect_state(ssl)
            guard let serverName else { throw .tls("a client needs the server's name") }
            try verifyName(serverName)
        }
    }

    deinit {
        unsafe SSL_free(ssl)
    }

    /// RFC 6125: the certificate must carry exactly this name, or this IP address.
    private func verifyName(_ name: String) throws(StreamError) {
        if IPAddress(name) != nil {
            guard unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1 else {
                throw .tls(TLSContext.lastError())
            }
        } else {
            unsafe SSL_set_hostflags(
                ssl, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
            guard unsafe SSL_set1_host(ssl, name) == 1, unsafe bramley_SSL_set_tlsext_host_name(ssl, name) == 1 else {
                throw .tls(TLSContext.lastError())
            }
        }
    }

    func handshake(on stream: SocketStream) async throws(StreamError) {
        while true {
            ERR_clear_error()
            let result = unsafe SSL_do_handshake(ssl)
            if result == 1 { return }
            try await waitAfter(result, on: stream)
        }
    }

    /// 0 at the end of the stream. An end without close_notify is `.broken`, since it may be a truncation.
    func read(from stream: SocketStream, into bytes: inout [UInt8], at offset: Int) async throws(StreamError) -> Int {
        while true {
            ERR_clear_error()
            // Invariant: OpenSSL writes at most `tail.count` bytes and does not keep the pointer.
            let result = unsafe bytes.withUnsafeMutableBytes { buffer in
                let tail = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[offset...])
                return unsafe SSL_read(ssl, tail.baseAddress, Int32(min(tail.count, Int(Int32.max))))
            }
            if result > 0 { return Int(result) }
            if unsafe SSL_get_error(ssl, result) == SSL_ERROR_ZERO_RETURN { return 0 }
            try await waitAfter(result, on: stream)
        }
    }

    func write(_ bytes: [UInt8], to stream: SocketStream) async throws(StreamError) {
        var sent = 0
        while sent < bytes.count {
            ERR_clear_error()
            // Invariant: as above; a retry hands over the same bytes, and SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER allows
            // them to have moved.
            let result = unsafe bytes.withUnsafeBytes { buffer in
                let part = unsafe UnsafeRawBufferPointer(rebasing: buffer[sent...])
                return unsafe SSL_write(ssl, part.baseAddress, Int32(min(part.count, Int(Int32.max))))
            }
            if result > 0 {
                sent += Int(result)
            } else {
                try await waitAfter(result, on: stream)
            }
        }
    }

    /// Tries once to tell the peer that the stream ends here; never waits.
    func sendCloseNotify() {
        guard unsafe SSL_is_init_finished(ssl) == 1 else { return }
        ERR_clear_error()
        _ = unsafe SSL_shutdown(ssl)
        ERR_clear_error()
    }

    private func waitAfter(_ result: Int32, on stream: SocketStream) async throws(StreamError) {
        let code = errno
        switch unsafe SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ:
            stream.markUnreadable()
            try await stream.waitUntilReadable()
        case SSL_ERROR_WANT_WRITE:
            stream.markUnwritable()
            try await stream.waitUntilWritable()
        case SSL_ERROR_SYSCALL:
            throw .broken(code)
        default:
            throw .tls(failure())
        }
    }

    private func failure() -> String {
        let verdict = unsafe SSL_get_verify_result(ssl)
        guard verdict != Int(X509_V_OK), let text = unsafe X509_verify_cert_error_string(verdict) else {
            return TLSContext.lastError()
        }
        return unsafe "certificate: " + String(cString: text)
    }
}
