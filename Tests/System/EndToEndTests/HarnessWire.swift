import Foundation
import Glibc

/// What an attacker has: a TCP connection to 127.0.0.1 and bytes. Blocking calls of the C library and none of our own
/// socket layer, so that a mistake there cannot hide itself.
final class WireConnection: Sendable {
    enum Failure: Error {
        case call(String, Int32)
        case timedOut
        case notHTTP(String)
    }

    private let descriptor: Int32

    /// - Parameters:
    ///   - port: where it connects to,
    ///   - address: on this address of the loopback interface, as a number.
    ///   - source: the address to come from, 127.x.y.z as a number; limits are counted by it.
    ///   - timeout: seconds any single read or write may take.
    init(
        port: UInt16, on address: UInt32 = 0x7F00_0001, source: UInt32 = 0x7F00_0001, timeout: Int = 20 * patience
    ) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw Failure.call("socket", errno) }
        var limit = timeval(tv_sec: timeout, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        // Invariant of these calls: the kernel reads `size` bytes of a value that outlives the call.
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, size)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, size)
        if source != 0x7F00_0001 {
            guard unsafe Self.call(Glibc.bind, descriptor, source, 0) == 0 else { throw failed("bind") }
        }
        let result = unsafe Self.call(Glibc.connect, descriptor, address, port)
        // Interrupted, it goes on by itself (POSIX).
        guard result == 0 || errno == EINTR && isConnected(within: timeout) else { throw failed("connect") }
    }

    private func isConnected(within seconds: Int) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        let limit = Int32(seconds * 1000)
        // Invariant: the kernel writes to one entry, and to four bytes.
        guard Self.uninterrupted({ unsafe Int(poll(&entry, 1, limit)) }) == 1 else { return false }
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        let result = unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size)
        if result == 0 { errno = code }
        return result == 0 && code == 0
    }

    private static func uninterrupted(_ call: () -> Int) -> Int {
        while true {
            let result = call()
            if result >= 0 || errno != EINTR { return result }
        }
    }

    deinit { _ = Glibc.close(descriptor) }

    private func failed(_ name: String) -> Failure { .call(name, errno) }

    private static func call(
        _ function: (Int32, UnsafePointer<sockaddr>?, socklen_t) -> Int32, _ descriptor: Int32, _ address: UInt32,
        _ port: UInt16
    ) -> Int32 {
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        name.sin_addr.s_addr = address.bigEndian
        return unsafe withUnsafePointer(to: &name) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe function(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    // MARK: Sending

    /// Sends everything; false when the peer no longer reads.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            // Invariant: the kernel reads at most `rest.count` bytes of an array that outlives the call.
            let count = unsafe bytes[sent...].withUnsafeBytes { rest in
                Self.uninterrupted {
                    unsafe Glibc.send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
                }
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    @discardableResult
    func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// No more will be sent; what comes is still read.
    func finishSending() { _ = shutdown(descriptor, Int32(SHUT_WR)) }

    // MARK: Receiving

    /// Some bytes; nil at the end, or when the peer has reset the connection.
    func receive() throws -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        // Invariant: the kernel writes at most `buffer.count` bytes.
        let count = Self.uninterrupted { unsafe recv(descriptor, &buffer, buffer.count, 0) }
        if count > 0 { return Array(buffer.prefix(count)) }
        if count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) { throw Failure.timedOut }
        return nil
    }

    /// At least so many bytes, in as many pieces as they come in, or all there are until the end; nil when that is none.
    func receive(atLeast count: Int) throws -> [UInt8]? {
        var all: [UInt8] = []
        while all.count < count, let more = try receive() { all += more }
        return all.isEmpty ? nil : all
    }

    /// Everything until the peer closes.
    func receiveToEnd() throws -> [UInt8] {
        var all: [UInt8] = []
        while let more = try receive() { all += more }
        return all
    }

    /// One response, its content by Content-Length or chunks.
    /// - Parameter rest: bytes read beyond it: the next response, of a pipeline.
    func response(toHead isHead: Bool = false, rest: inout [UInt8]) throws -> WireResponse {
        while true {
            if let (response, length) = try WireResponse.parse(rest, toHead: isHead, isAtEnd: false) {
                rest.removeFirst(length)
                // 100 and 103 announce the one that counts.
                if response.status >= 200 { return response }
                continue
            }
            guard let more = try receive() else {
                guard let (response, length) = try WireResponse.parse(rest, toHead: isHead, isAtEnd: true) else {
                    throw Failure.notHTTP(String(decoding: rest.prefix(200), as: UTF8.self))
                }
                rest.removeFirst(length)
                return response
            }
            rest += more
        }
    }

    func response(toHead isHead: Bool = false) throws -> WireResponse {
        var rest: [UInt8] = []
        return try response(toHead: isHead, rest: &rest)
    }
}

/// A response as it came, every field line kept.
struct WireResponse: Sendable {
    var status = 0
    /// Names as they were written, in order.
    var fields: [(name: String, value: String)] = []
    var body: [UInt8] = []

    var text: String { String(decoding: body, as: UTF8.self) }

    /// All values of a field, the name without regard to case.
    subscript(all name: String) -> [String] {
        fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    /// The value of a field; nil when it is absent or there twice.
    subscript(name: String) -> String? {
        let values = self[all: name]
        return values.count == 1 ? values[0] : nil
    }

    var setCookies: [SetCookie] { self[all: "set-cookie"].map(SetCookie.init) }
    func setCookie(_ name: String) -> SetCookie? { setCookies.first { $0.name == name } }

    /// nil while more bytes are needed.
    static func parse(_ bytes: [UInt8], toHead isHead: Bool, isAtEnd: Bool) throws -> (WireResponse, length: Int)? {
        guard let end = index(of: "\r\n\r\n", in: bytes, from: 0) else { return nil }
        let lines = String(decoding: bytes[..<end], as: UTF8.self).components(separatedBy: "\r\n")
        let first = lines[0].split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard first.count >= 2, first[0] == "HTTP/1.1", let status = Int(first[1]) else {
            throw WireConnection.Failure.notHTTP(lines[0])
        }
        var response = WireResponse()
        response.status = status
        for line in lines.dropFirst() {
            let halves = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2 else { throw WireConnection.Failure.notHTTP(line) }
            response.fields.append((String(halves[0]), halves[1].trimmingCharacters(in: .whitespaces)))
        }
        let start = end + 4
        if isHead || status < 200 || status == 204 || status == 304 { return (response, start) }
        if response["transfer-encoding"]?.lowercased() == "chunked" {
            guard let (body, next) = chunks(bytes, from: start) else { return nil }
            response.body = body
            return (response, next)
        }
        if let length = response["content-length"].flatMap({ Int($0) }) {
            guard bytes.count >= start + length else { return nil }
            response.body = Array(bytes[start..<start + length])
            return (response, start + length)
        }
        guard isAtEnd else { return nil }
        response.body = Array(bytes[start...])
        return (response, bytes.count)
    }

    private static func chunks(_ bytes: [UInt8], from start: Int) -> (body: [UInt8], next: Int)? {
        var body: [UInt8] = []
        var index = start
        while let lineEnd = self.index(of: "\r\n", in: bytes, from: index) {
            guard let size = Int(String(decoding: bytes[index..<lineEnd], as: UTF8.self), radix: 16) else { return nil }
            let content = lineEnd + 2
            guard bytes.count >= content + size + 2 else { return nil }
            if size == 0 { return (body, content + 2) }
            body += bytes[content..<content + size]
            index = content + size + 2
        }
        return nil
    }

    private static func index(of text: String, in bytes: [UInt8], from start: Int) -> Int? {
        let wanted = Array(text.utf8)
        guard bytes.count >= wanted.count, start <= bytes.count - wanted.count else { return nil }
        return (start...bytes.count - wanted.count).first { bytes[$0..<$0 + wanted.count].elementsEqual(wanted) }
    }
}

struct SetCookie: Sendable {
    var name: String
    var value: String
    /// Names in lower case; a flag has an empty value.
    var attributes: [String: String]

    init(_ text: String) {
        let parts = text.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }
        let halves = (parts.first ?? "").split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        name = String(halves[0])
        value = halves.count > 1 ? String(halves[1]) : ""
        attributes = [:]
        for part in parts.dropFirst() {
            let halves = part.split(separator: "=", maxSplits: 1)
            attributes[halves[0].lowercased()] = halves.count > 1 ? String(halves[1]) : ""
        }
    }

    var isRemoval: Bool { attributes["max-age"] == "0" }
}

/// Runs blocking work on a thread of its own: never on one that the tests, or a server in this process, may need. It
/// stays part of the calling task, so that what it expects counts for its test.
func blocking<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withTaskExecutorPreference(ThreadPerJob.shared) { try await perform(work) }
}

@concurrent private func perform<Value: Sendable>(_ work: @Sendable () throws -> Value) async throws -> Value {
    try work()
}

/// Gives every piece of work a thread. The tests' own pool has as many threads as there are cores, and a test that
/// computes for a minute holds one of them: a server or a client that waited for its turn there would miss deadlines.
final class ThreadPerJob: TaskExecutor {
    static let shared = ThreadPerJob()

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        Thread.detachNewThread { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
