internal import COpenSSL
internal import Glibc

/// The TLS state of one stream. OpenSSL reads and writes through the stream (`TLSTransport`), and holds buffers only
/// while a record is incomplete; what it cannot do yet becomes a wait of the stream.
///
/// Loop-bound like the stream that owns it; not Sendable.
@safe final class TLSSession {
    /// Input allowed without a byte of content. The longest record is 16,645 bytes; a peer that sends more than this
    /// wastes our time (KeyUpdate, renegotiation) or sends a hello larger than any client's. The handshake is counted
    /// in complete records, so that the same bytes get the same answer however they are segmented.
    static let maximumSilence = 32_768
    /// Replaces the header of a record beyond that limit: it announces more than any record may have. OpenSSL answers
    /// with a fatal alert, encrypted where necessary (RFC 8446 §5.1, §6.2).
    private static let excessiveRecord: [UInt8] = [22, 3, 3, 0xFF, 0xFF]

    private let ssl: OpaquePointer
    private let context: TLSContext
    private unowned let stream: SocketStream
    /// Input not yet given to OpenSSL: read before TLS began, or together with the record the handshake wanted.
    private var head: ArraySlice<UInt8> = []
    /// Remaining bytes of the handshake's current record for OpenSSL.
    private var recordLeft = 0
    /// The first bytes of the peer's current handshake message, until they contain its length (RFC 8446 §4).
    private var messageHeader: [UInt8] = []
    /// Remaining bytes of that message, once its length is known.
    private var messageLeft = 0
    /// Our handshake messages that the kernel has not taken. Each flight leaves in one send(2), the last together with
    /// the first bytes of content.
    private var pending: [UInt8] = []
    private var isHandshaking = true
    private var silence = 0
    /// OpenSSL has asked for bytes that have not arrived; it holds less than a record.
    private var isStarved = false
    /// OpenSSL reads on only after it has sent its own answer to a KeyUpdate, and the socket is full.
    private(set) var awaitsOutput = false
    private var hasFailed = false
    private var systemError: Int32 = 0
    /// Whether the socket came to its end. (OpenSSL knows whether close_notify came before.)
    private(set) var sawEnd = false

    /// - Parameter head: bytes read from the stream before TLS began.
    init(
        _ context: TLSContext, stream: SocketStream, serverName: String?, head: ArraySlice<UInt8>
    ) throws(StreamError) {
        ERR_clear_error()
        guard let ssl = unsafe SSL_new(context.pointer) else { throw .tls(TLSContext.lastError()) }
        unsafe self.ssl = ssl
        self.context = context
        self.stream = stream
        self.head = head
        guard let bio = unsafe TLSTransport.makeBIO(context.transport, for: self) else {
            throw .tls(TLSContext.lastError())
        }
        // The session takes the one reference for both directions.
        unsafe SSL_set_bio(ssl, bio, bio)
        if context.isServer {
            unsafe SSL_set_accept_state(ssl)
        } else {
            unsafe SSL_set_connect_state(ssl)
            guard let serverName else { throw .tls("a client needs the server's name") }
            try verifyName(serverName)
        }
    }

    deinit { unsafe SSL_free(ssl) }

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

    // MARK: The handshake

    func handshake() async throws(StreamError) {
        while true {
            ERR_clear_error()
            let result = unsafe SSL_do_handshake(ssl)
            if result == 1 { break }
            let verdict = verdict(result)
            // Waiting output may be the alert that explains this end.
            flush()
            switch verdict {
            case .wantsInput where pending.isEmpty: try await stream.waitUntilReadable()
            case .wantsInput, .wantsOutput: try await stream.waitUntilWritable()
            case .failed(let error): throw error
            case .end: throw .broken(ECONNRESET)
            }
            while !pending.isEmpty, !hasFailed {
                flush()
                if !pending.isEmpty { try await stream.waitUntilWritable() }
            }
        }
        isHandshaking = false
        silence = 0
    }

    /// The negotiated protocol; nil when the client did not ask.
    var applicationProtocol: ApplicationProtocol? {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        unsafe SSL_get0_alpn_selected(ssl, &name, &length)
        guard let name = unsafe name else { return nil }
        // Invariant: the name belongs to the session and does not change after the handshake.
        return unsafe ApplicationProtocol(name: UnsafeBufferPointer(start: name, count: Int(length)))
    }

    var isResumed: Bool { unsafe SSL_session_reused(ssl) == 1 }

    /// Nil for a version without a name here.
    var version: TLSVersion? { unsafe TLSVersion(rawValue: SSL_version(ssl)) }

    var peerCertificate: [UInt8]? {
        guard let certificate = unsafe SSL_get1_peer_certificate(ssl) else { return nil }
        defer { unsafe X509_free(certificate) }
        let count = unsafe i2d_X509(certificate, nil)
        guard count > 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(count))
        // Invariant: the buffer has the size that OpenSSL requested just before.
        let written = unsafe bytes.withUnsafeMutableBufferPointer { buffer in
            var cursor = buffer.baseAddress
            return unsafe i2d_X509(certificate, &cursor)
        }
        return written == count ? bytes : nil
    }

    // MARK: Content

    /// Whether a read may succeed without an event: decrypted bytes are left, or records were read ahead.
    var hasInput: Bool {
        guard !isStarved else { return false }
        return unsafe SSL_has_pending(ssl) == 1 || !head.isEmpty
    }

    /// Whether nothing would be lost if the connection waited without a task.
    var isAtRest: Bool {
        guard pending.isEmpty && head.isEmpty else { return false }
        return unsafe SSL_has_pending(ssl) == 0
    }

    /// Nil without a complete record; 0 at the end. An end without close_notify is an error: perhaps a truncation.
    func read(into bytes: inout [UInt8], at offset: Int) throws(StreamError) -> Int? {
        ERR_clear_error()
        awaitsOutput = false
        // Invariant: OpenSSL writes at most `tail.count` bytes and does not keep the pointer.
        let result = unsafe bytes.withUnsafeMutableBytes { buffer in
            let tail = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[offset...])
            return unsafe SSL_read(ssl, tail.baseAddress, Int32(clamping: tail.count))
        }
        if result > 0 {
            isStarved = false
            silence = 0
            return Int(result)
        }
        switch verdict(result) {
        case .wantsInput:
            isStarved = true
            return nil
        case .wantsOutput:
            awaitsOutput = true
            return nil
        case .end: return 0
        case .failed(let error): throw error
        }
    }

    /// The number of bytes of `bytes[offset...]` sent in complete records. After a call that sent none, the next must
    /// pass the same bytes, or there must be none: part of their record may be in flight.
    /// - Throws: also when the peer has begun a handshake message and left it unfinished. OpenSSL writes nothing before
    ///   it has the rest, which may never come; such a message is a few bytes, so no honest peer stops inside one.
    func write(_ bytes: [UInt8], from offset: Int) throws(StreamError) -> Int {
        var sent = offset
        while sent < bytes.count {
            ERR_clear_error()
            // Invariant: as above; a retry passes the same bytes, which may have moved (ACCEPT_MOVING_WRITE_BUFFER).
            let result = unsafe bytes.withUnsafeBytes { buffer in
                let part = unsafe UnsafeRawBufferPointer(rebasing: buffer[sent...])
                return unsafe SSL_write(ssl, part.baseAddress, Int32(clamping: part.count))
            }
            if result > 0 {
                sent += Int(result)
                continue
            }
            switch verdict(result) {
            case .wantsOutput: return sent - offset
            case .wantsInput:
                hasFailed = true
                throw .tls("unfinished handshake message")
            case .end: throw .broken(EPIPE)
            case .failed(let error): throw error
            }
        }
        return sent - offset
    }

    /// Tries once to tell the peer that the stream ends here; never waits.
    func sendCloseNotify() {
        // After a fatal error nothing may follow (SSL_shutdown(3)); before the handshake is done there is nothing to
        // end. Pending tickets go first: after them the alert would be lost when the kernel does not take everything,
        // since nobody asks OpenSSL for it again.
        flush()
        guard !hasFailed, !isHandshaking else { return }
        ERR_clear_error()
        _ = unsafe SSL_shutdown(ssl)
        ERR_clear_error()
    }

    // MARK: The socket

    /// Sends pending handshake output, as far as the kernel takes it.
    func flush() {
        var isBlocked = false
        while !pending.isEmpty && !isBlocked {
            let outcome = unsafe pending.withUnsafeBytes { unsafe stream.send($0) }
            switch outcome {
            case .moved(let count): pending.removeFirst(count)
            case .wouldBlock: isBlocked = true
            case .failed(let code):
                systemError = code
                hasFailed = true
                pending = []
            }
        }
        if pending.isEmpty { pending = [] }
    }

    /// For OpenSSL: input from the peer.
    func receive(_ buffer: UnsafeMutableRawBufferPointer) -> SystemCalls.Transfer {
        if isHandshaking { return unsafe receiveHandshake(buffer) }
        if !head.isEmpty {
            let count = unsafe copyHead(buffer, atMost: head.count)
            silence += count
            return .moved(count)
        }
        guard silence <= Self.maximumSilence else {
            systemError = EMSGSIZE
            return .failed(EMSGSIZE)
        }
        let outcome = unsafe stream.receive(buffer)
        switch outcome {
        case .moved(let count):
            silence += count
            if count == 0 { sawEnd = true }
        case .wouldBlock: break
        case .failed(let code): systemError = code
        }
        return outcome
    }

    /// At most one record at a time, and nothing of it before its header is complete: input after the handshake is not
    /// counted, and a record beyond the limit is not begun.
    private func receiveHandshake(_ buffer: UnsafeMutableRawBufferPointer) -> SystemCalls.Transfer {
        // OpenSSL would read on after the header that it was to refuse: give it nothing more.
        guard silence <= Self.maximumSilence else { return .failed(EMSGSIZE) }
        while head.count < neededBytes {
            let outcome = unsafe stream.receive(buffer)
            switch outcome {
            case .moved(let count) where count > 0: unsafe head.append(contentsOf: buffer[..<count])
            case .moved:
                sawEnd = true
                return outcome
            case .wouldBlock: return outcome
            case .failed(let code):
                systemError = code
                return outcome
            }
        }
        if recordLeft == 0 {
            recordLeft = Self.excessiveRecord.count + recordLength
            silence += recordLeft
            if announcesLongHello() { silence = Self.maximumSilence + 1 }
            if silence > Self.maximumSilence {
                unsafe buffer.copyBytes(from: Self.excessiveRecord.prefix(buffer.count))
                return .moved(min(Self.excessiveRecord.count, buffer.count))
            }
        }
        let count = unsafe copyHead(buffer, atMost: recordLeft)
        recordLeft -= count
        return .moved(count)
    }

    /// Bytes needed before OpenSSL gets any: a new record's header, and its part of a message's header.
    private var neededBytes: Int {
        guard recordLeft == 0 else { return 1 }
        let header = Self.excessiveRecord.count
        guard head.count >= header else { return header }
        return header + messageHeaderBytes(inRecordOf: recordLength)
    }

    /// Of the new record whose header begins `head`.
    private var recordLength: Int { Int(head[head.startIndex + 3]) << 8 + Int(head[head.startIndex + 4]) }

    /// How many of a new record's `length` bytes belong to a message header.
    ///
    /// Zero for records that contain no hello: after one, TLS 1.2 encrypts handshake messages, and TLS 1.3 marks them
    /// as application data. A hello begins a record (OpenSSL refuses others).
    private func messageHeaderBytes(inRecordOf length: Int) -> Int {
        guard context.isServer, messageLeft == 0, head.first == Self.excessiveRecord[0],
            unsafe SSL_version(ssl) == TLSVersion.tls13.rawValue
        else { return 0 }
        return min(4 - messageHeader.count, length)
    }

    /// Reads the start of a new record in `head`. OpenSSL allocates and zeroes the announced size of a hello, up to
    /// 131,396 bytes, before it has arrived: one that announces more than allowed is refused by its header.
    private func announcesLongHello() -> Bool {
        let header = Self.excessiveRecord.count
        let length = recordLeft - header
        guard head.first == Self.excessiveRecord[0] else { return false }
        let count = messageHeaderBytes(inRecordOf: length)
        messageHeader += head.dropFirst(header).prefix(count)
        if messageHeader.count == 4 {
            messageLeft = messageHeader[1...].reduce(0) { $0 << 8 + Int($1) }
            // client_hello is 1.
            if messageHeader[0] == 1, messageLeft + 4 > Self.maximumSilence { return true }
            messageHeader = []
        }
        messageLeft = max(0, messageLeft - (length - count))
        return false
    }

    private func copyHead(_ buffer: UnsafeMutableRawBufferPointer, atMost maximum: Int) -> Int {
        let count = min(head.count, buffer.count, maximum)
        unsafe buffer.copyBytes(from: head.prefix(count))
        head = count == head.count ? [] : head.dropFirst(count)
        return count
    }

    /// For OpenSSL: output to the peer.
    func send(_ bytes: UnsafeRawBufferPointer) -> SystemCalls.Transfer {
        if isHandshaking {
            unsafe pending.append(contentsOf: bytes)
            return .moved(bytes.count)
        }
        let outcome: SystemCalls.Transfer
        if pending.isEmpty {
            outcome = unsafe stream.send(bytes)
        } else {
            outcome = unsafe sendBehindPending(bytes)
        }
        if case .failed(let code) = outcome { systemError = code }
        return outcome
    }

    /// Sends both in one packet. Of `bytes` only what the kernel took counts as sent: OpenSSL keeps the rest itself.
    private func sendBehindPending(_ bytes: UnsafeRawBufferPointer) -> SystemCalls.Transfer {
        let before = pending.count
        unsafe pending.append(contentsOf: bytes)
        let outcome = unsafe pending.withUnsafeBytes { unsafe stream.send($0) }
        pending.removeLast(bytes.count)
        guard case .moved(let count) = outcome else { return outcome }
        pending.removeFirst(min(count, before))
        if pending.isEmpty { pending = [] }
        return count > before ? .moved(count - before) : .wouldBlock
    }

    // MARK: Outcomes

    private enum Verdict {
        case wantsInput, wantsOutput, end
        case failed(StreamError)
    }

    private func verdict(_ result: Int32) -> Verdict {
        switch unsafe SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ: return .wantsInput
        case SSL_ERROR_WANT_WRITE: return .wantsOutput
        case SSL_ERROR_ZERO_RETURN: return .end
        case SSL_ERROR_SYSCALL:
            hasFailed = true
            guard silence <= Self.maximumSilence else { return .failed(.tls("too many TLS records without data")) }
            return .failed(.broken(systemError == 0 ? ECONNRESET : systemError))
        default:
            hasFailed = true
            guard silence <= Self.maximumSilence else {
                return .failed(.tls("a handshake of more than \(Self.maximumSilence) bytes"))
            }
            return .failed(.tls(failure()))
        }
    }

    private func failure() -> String {
        let verdict = unsafe SSL_get_verify_result(ssl)
        guard !context.isServer, verdict != Int(X509_V_OK), let text = unsafe X509_verify_cert_error_string(verdict)
        else { return TLSContext.lastError() }
        return unsafe "certificate: " + String(cString: text)
    }
}
