internal import CLinux
internal import Glibc

/// Every system call of the socket layer, wrapped once: EINTR is retried, failures become `SystemError`.
///
/// Invariant of every `unsafe` in here: the pointers passed to the kernel come from a closure-scoped buffer whose count
/// is passed along, so the kernel never writes past it and keeps none of them.
enum SystemCalls {
    /// The outcome of a call on a non-blocking descriptor.
    enum Transfer {
        case moved(Int)
        case wouldBlock
        case failed(Int32)
    }

    @inline(__always)
    static func retrying(_ call: String, _ body: () -> Int32) throws(SystemError) -> Int32 {
        while true {
            let result = body()
            if result >= 0 { return result }
            let code = errno
            if code != EINTR { throw SystemError(call: call, code: code) }
        }
    }

    static func open(_ path: String, _ flags: Int32, mode: mode_t = 0) throws(SystemError) -> Descriptor {
        Descriptor(owning: try retrying("open") { unsafe Glibc.open(path, flags | O_CLOEXEC, mode) })
    }

    static func status(of descriptor: Int32) throws(SystemError) -> stat {
        var status = stat()
        _ = try retrying("fstat") { unsafe fstat(descriptor, &status) }
        return status
    }

    @inline(__always)
    private static func transfer(_ body: () -> Int) -> Transfer {
        while true {
            let count = body()
            if count >= 0 { return .moved(count) }
            let code = errno
            if code == EINTR { continue }
            return code == EAGAIN ? .wouldBlock : .failed(code)
        }
    }

    /// recv(2) into the tail of `bytes` that begins at `offset`.
    static func receive(_ descriptor: Int32, into bytes: inout [UInt8], at offset: Int) -> Transfer {
        unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe receive(descriptor, into: UnsafeMutableRawBufferPointer(rebasing: buffer[offset...]))
        }
    }

    static func receive(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
        transfer { unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0) }
    }

    /// Whether a byte can be read, without consuming it. The end of the stream does not count.
    static func hasInput(_ descriptor: Int32) -> Bool {
        var byte: UInt8 = 0
        while true {
            let count = unsafe recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
            if count >= 0 || errno != EINTR { return count > 0 }
        }
    }

    /// recv(2) into `bytes` without consuming.
    static func peek(_ descriptor: Int32, into bytes: inout [UInt8]) -> Transfer {
        unsafe bytes.withUnsafeMutableBytes { buffer in
            transfer { unsafe recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_PEEK)) }
        }
    }

    /// send(2) of `bytes[range]`, never raising SIGPIPE.
    static func send(_ descriptor: Int32, _ bytes: [UInt8], _ range: Range<Int>) -> Transfer {
        unsafe bytes.withUnsafeBytes { buffer in
            unsafe send(descriptor, UnsafeRawBufferPointer(rebasing: buffer[range]))
        }
    }

    static func send(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Transfer {
        transfer { unsafe Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)) }
    }

    static func socket(family: Int32) throws(SystemError) -> Descriptor {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        return Descriptor(owning: try retrying("socket") { Glibc.socket(family, type, 0) })
    }

    static func setOption(_ descriptor: Int32, level: Int32, _ option: Int32, _ value: Int32) throws(SystemError) {
        _ = try retrying("setsockopt") {
            var value = value
            return unsafe setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
        }
    }

    static func isListening(_ descriptor: Int32) throws(SystemError) -> Bool {
        func option(_ name: Int32) throws(SystemError) -> Int32 {
            var value: Int32 = 0
            var length = socklen_t(MemoryLayout<Int32>.size)
            _ = try retrying("getsockopt") { unsafe getsockopt(descriptor, SOL_SOCKET, name, &value, &length) }
            return value
        }
        let (listens, type) = (try option(SO_ACCEPTCONN), try option(SO_TYPE))
        return listens == 1 && type == Int32(SOCK_STREAM.rawValue)
    }

    /// Distinguishes a socket, or a file of one file system, from others, whichever descriptor it is open as.
    static func identity(_ descriptor: Int32) -> UInt64? {
        (try? status(of: descriptor)).map { UInt64(truncatingIfNeeded: $0.st_ino) }
    }

    /// SO_ERROR: why a non-blocking connect failed; 0 when it did not.
    static func pendingError(_ descriptor: Int32) -> Int32 {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        let result = unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &value, &length)
        return result == 0 ? value : errno
    }

    /// Makes close(2) reset the connection instead of sending the rest in the background.
    static func resetOnClose(_ descriptor: Int32) {
        var value = linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
    }

    static func bind(_ descriptor: Int32, to address: SocketAddress) throws(SystemError) {
        _ = try retrying("bind") {
            unsafe address.withPointer { unsafe Glibc.bind(descriptor, $0, $1) }
        }
    }

    static func listen(_ descriptor: Int32, backlog: Int32) throws(SystemError) {
        _ = try retrying("listen") { Glibc.listen(descriptor, backlog) }
    }

    /// Begins a non-blocking connect; false while it is in progress.
    static func connect(_ descriptor: Int32, to address: SocketAddress) throws(SystemError) -> Bool {
        let result = unsafe address.withPointer { unsafe Glibc.connect(descriptor, $0, $1) }
        if result >= 0 { return true }
        // When interrupted, it continues by itself (POSIX); another call would return EALREADY.
        let code = errno
        guard code == EINPROGRESS || code == EINTR else { throw SystemError(call: "connect", code: code) }
        return false
    }

    static func localAddress(_ descriptor: Int32) throws(SystemError) -> SocketAddress {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &length)
            }
        }
        guard result == 0, let address = SocketAddress(storage) else {
            throw SystemError(call: "getsockname", code: errno)
        }
        return address
    }

    enum Accepted: ~Copyable {
        case connection(Descriptor, SocketAddress)
        case none
        /// This one connection failed (aborted by the peer, refused by policy); others may be waiting.
        case skipped
        /// No descriptor or memory is available: EMFILE, ENFILE, ENOBUFS, ENOMEM.
        case exhausted(Int32)
    }

    static func accept(_ descriptor: Int32) -> Accepted {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let flags = Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let number = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bramley_accept4(descriptor, $0, &length, flags)
            }
        }
        if number >= 0 {
            let accepted = Descriptor(owning: number)
            guard let address = SocketAddress(storage) else { return .skipped }
            return .connection(accepted, address)
        }
        switch errno {
        case EAGAIN: return .none
        case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted(errno)
        default: return .skipped  // EINTR, ECONNABORTED, EPERM and the network errors accept(2) passes on
        }
    }

    /// CLOCK_MONOTONIC in nanoseconds.
    @inline(__always)
    static func monotonicNow() -> Int64 {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
