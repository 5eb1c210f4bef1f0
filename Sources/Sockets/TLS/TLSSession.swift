internal import COpenSSL
internal import Glibc

/// The TLS state of one stream. OpenSSL reads and writes through the stream (`TLSTransport`), and holds buffers only
/// while a record is incomplete; what it cannot do yet is a wait of the stream's.
///
/// Loop-bound like the stream that owns it; not Sendable.
@safe final class TLSSession {
    /// What may come in without a byte of content in it. The longest record is 16,645 bytes; whoever sends more than
    /// this keeps us busy (KeyUpdate, renegotiation) or sends a hello of a size that no client has. The handshake is
    /// counted by whole records, so that the same bytes get the same answer however they are cut into segments.
    static let maximumSilence = 32_768
    /// In place of the header of a record that is beyond that: announced to be longer than any may be. OpenSSL answers
    /// with a fatal alert, enciphered where one has to be (RFC 8446 §5.1, §6.2).
    private static let excessiveRecord: [UInt8] = [22, 3, 3, 0xFF, 0xFF]

    private let ssl: OpaquePointer
    private let context: TLSContext
    private unowned let stream: SocketStream
    /// What has been read and OpenSSL has not been given: by the caller before TLS began, or together with the record
    /// that the handshake wanted.
    private var head: ArraySlice<UInt8> = []
    /// What OpenSSL has still to be given of the handshake's current record.
    private var recordLeft = 0
    /// The first bytes of the peer's current handshake message, until they tell its length (RFC 8446 §4).
    private var messageHeader: [UInt8] = []
    /// Bytes of that message still to come, once they do.
    private var messageLeft = 0
    /// Handshake messages of ours that the kernel has not got. They leave in one send(2) a flight, and what comes last
    /// together with the first bytes of content.
    private var pending: [UInt8] = []
    private var isHandshaking = true
    private var silence = 0
    /// OpenSSL has asked for bytes that have not come; what it holds is less than a record.
    private var isStarved = false
    /// OpenSSL reads on only when it has sent something of its own, the answer to a KeyUpdate, and the socket is full.
    private(set) var awaitsOutput = false
    private var hasFailed = false
    private var systemError: Int32 = 0
    /// Whether the socket came to its end. (Whether close_notify came before, OpenSSL knows.)
    private(set) var sawEnd = false

    /// - Parameter head: bytes that were read from the stream before TLS began on it.
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

    // MARK: The handshake

    func handshake() async throws(StreamError) {
        while true {
            ERR_clear_error()
            let result = unsafe SSL_do_handshake(ssl)
            if result == 1 { break }
            let verdict = verdict(result)
            // What is waiting now may be the alert that tells why it ends here.
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

    /// What both sides agreed to speak; nil when the client did not ask.
    var applicationProtocol: ApplicationProtocol? {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        unsafe SSL_get0_alpn_selected(ssl, &name, &length)
        guard let name = unsafe name else { return nil }
        // Invariant: the name belongs to the session and is not changed after the handshake.
        return unsafe ApplicationProtocol(name: UnsafeBufferPointer(start: name, count: Int(length)))
    }

    var isResumed: Bool { unsafe SSL_session_reused(ssl) == 1 }

    /// Nil for a version there is no name for here.
    var version: TLSVersion? { unsafe TLSVersion(rawValue: SSL_version(ssl)) }

    /// As ASN.1 has it; nil when the peer showed none.
    var peerCertificate: [UInt8]? {
        guard let certificate = unsafe SSL_get1_peer_certificate(ssl) else { return nil }
        defer { unsafe X509_free(certificate) }
        let count = unsafe i2d_X509(certificate, nil)
        guard count > 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(count))
        // Invariant: the buffer has the bytes OpenSSL asked for just before.
        let written = unsafe bytes.withUnsafeMutableBufferPointer { buffer in
            var cursor = buffer.baseAddress
            return unsafe i2d_X509(certificate, &cursor)
        }
        return written == count ? bytes : nil
    }

    // MARK: Content

    /// Whether a read may bring something without a word from epoll: deciphered bytes that are left, or records that
    /// were read together with the last one.
    var hasInput: Bool {
        guard !isStarved else { return false }
        return unsafe SSL_has_pending(ssl) == 1 || !head.isEmpty
    }

    /// Whether nothing would be lost if the connection waited without a task.
    var isAtRest: Bool {
        guard pending.isEmpty && head.isEmpty else { return false }
        return unsafe SSL_has_pending(ssl) == 0
    }

    /// Nil when no whole record has come; 0 at the end of the stream. An end without close_notify is an error, since it
    /// may be a truncation.
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

    /// As many bytes of `bytes[offset...]` as went out in whole records. A call that came to nothing must be followed by
    /// one with the same bytes, or by none: part of their record may be on its way.
    /// - Throws: also when the peer has begun a handshake message and left it unfinished. OpenSSL writes nothing before it
    ///   has the rest, which may never come; a message is a few bytes, so that nobody who is honest stops inside one.
    func write(_ bytes: [UInt8], from offset: Int) throws(StreamError) -> Int {
        var sent = offset
        while sent < bytes.count {
            ERR_clear_error()
            // Invariant: as above; a retry hands over the same bytes, and SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER allows
            // them to have moved.
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
        // After a fatal error nothing may follow (SSL_shutdown(3)); before the handshake is over nothing is to end.
        // Tickets that wait for content which never came go first: behind them the alert would be lost when the kernel
        // takes less than all, since nobody asks OpenSSL for it again.
        flush()
        guard !hasFailed, !isHandshaking else { return }
        ERR_clear_error()
        _ = unsafe SSL_shutdown(ssl)
        ERR_clear_error()
    }

    // MARK: The socket

    /// Hands over what of the handshake is waiting, as far as the kernel takes it.
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

    /// For OpenSSL: bytes of the peer.
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

    /// At most one record at a time, and none of it before its header is whole: what comes behind the handshake is not
    /// counted, and one record too many is not begun.
    private func receiveHandshake(_ buffer: UnsafeMutableRawBufferPointer) -> SystemCalls.Transfer {
        // OpenSSL reads on behind the header that it was to refuse: there is nothing more for it.
        guard silence <= Self.maximumSilence else { return .failed(EMSGSIZE) }
        while head.count < neededBytes {
            let outcome = unsafe stream.receive(buffer)
            switch outcome {
            case .moved(let count) where count > 0:
                unsafe head.append(contentsOf: buffer[..<count])
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

    /// Bytes that must be here before OpenSSL is given any: of a new record its header, and what it has of the header of
    /// a handshake message.
    private var neededBytes: Int {
        guard recordLeft == 0 else { return 1 }
        let header = Self.excessiveRecord.count
        guard head.count >= header else { return header }
        return header + messageHeaderBytes(inRecordOf: recordLength)
    }

    /// Of the new record whose header `head` begins with.
    private var recordLength: Int { Int(head[head.startIndex + 3]) << 8 + Int(head[head.startIndex + 4]) }

    /// How many of a new record's bytes, of which there are `length`, belong to the header of a message.
    ///
    /// Zero for records that hold no hello: after one, TLS 1.2 enciphers handshake messages, and TLS 1.3 calls them
    /// application data. A hello begins a record (OpenSSL refuses others).
    private func messageHeaderBytes(inRecordOf length: Int) -> Int {
        guard context.isServer, messageLeft == 0, head.first == Self.excessiveRecord[0],
            unsafe SSL_version(ssl) == TLSVersion.tls13.rawValue
        else { return 0 }
        return min(4 - messageHeader.count, length)
    }

    /// Reads the start of a new record, which is in `head`. OpenSSL allocates and zeroes what a hello announces, up to
    /// 131,396 bytes, before it has come: one that announces more than may come is refused by its header.
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

    /// For OpenSSL: bytes to the peer.
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

    /// Both in one packet. Of `bytes` only what the kernel took counts as sent: OpenSSL keeps the rest itself.
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
