internal import CLinux
internal import Glibc

/// One end of a connection between a server and its successor: one byte each way, and the end of the stream when the
/// other process is gone. Never waits.
package final class ProcessConnection: Sendable {
    private let descriptor: Descriptor

    init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

    fileprivate static func pair() throws(SystemError) -> [Int32] {
        var numbers: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        // Invariant: the kernel writes two numbers, for which there is room.
        _ = try SystemCalls.retrying("socketpair") { unsafe socketpair(AF_UNIX, kind, 0, &numbers) }
        return numbers
    }

    package func signal() {
        var byte: UInt8 = 1
        _ = unsafe Glibc.send(descriptor.number, &byte, 1, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    }

    /// Whether the other process has sent anything since the last call; nil once it has ended, or closed its end.
    package func listen() -> Bool? {
        var byte: UInt8 = 0
        while true {
            let count = unsafe recv(descriptor.number, &byte, 1, Int32(MSG_DONTWAIT))
            if count > 0 { return true }
            if count == 0 { return nil }
            if errno == EINTR { continue }
            return errno == EAGAIN ? false : nil
        }
    }
}

/// A program that replaces this one, with some of its descriptors.
package struct Successor: Sendable {
    package let process: Int32
    package let connection: ProcessConnection

    /// Starts it.
    /// - Parameters:
    ///   - path: of the program.
    ///   - arguments: with the program's name first.
    ///   - environment: `LISTEN_PID`, `LISTEN_FDS` and `LISTEN_FDNAMES` are replaced.
    ///   - descriptors: what it inherits, by name; open during the call.
    ///   - connectionName: the name under which it finds its end of `connection`.
    package init(
        path: String, arguments: [String], environment: [String: String],
        descriptors: [(name: String, number: Int32)], connectionName: String
    ) throws(SystemError) {
        let pair = try ProcessConnection.pair()
        let ours = Descriptor(owning: pair[0])
        let theirs = Descriptor(owning: pair[1])
        let numbers = descriptors.map(\.number) + [theirs.number]
        var variables = environment
        variables["LISTEN_FDS"] = "\(numbers.count)"
        variables["LISTEN_FDNAMES"] = (descriptors.map(\.name) + [connectionName]).joined(separator: ":")
        variables["LISTEN_PID"] = nil
        let entry = "LISTEN_PID="
        // The child writes its process ID, of up to ten digits, over the zeros.
        var entries = [Array((entry + "0000000000").utf8CString)]
        for (name, value) in variables { entries.append(Array("\(name)=\(value)".utf8CString)) }
        let words = arguments.map { Array($0.utf8CString) }
        process = try unsafe Self.withPointers(to: words) { arguments throws(SystemError) in
            try unsafe Self.withPointers(to: entries) { environment throws(SystemError) in
                guard let number = unsafe environment[0].map({ unsafe $0 + entry.utf8.count }) else {
                    throw SystemError(call: "fork", code: EINVAL)
                }
                // Invariant: every pointer is valid during the call, and the child has its own copy of everything.
                let process = unsafe bramley_start_successor(
                    path, arguments, environment, number, numbers, Int32(numbers.count))
                guard process > 0 else { throw SystemError(call: "fork", code: errno) }
                return process
            }
        }
        connection = ProcessConnection(ours)
    }

    /// How it ended, as wait(2) reports; nil while it runs. Not asked again once known.
    package func ending() -> String? {
        var status: Int32 = 0
        let result = unsafe waitpid(process, &status, WNOHANG)
        guard result == process else { return result < 0 && errno != EINTR ? "it is gone" : nil }
        let signal = status & 0x7F
        return signal == 0 ? "exit code \(status >> 8 & 0xFF)" : "signal \(signal)"
    }

    /// Ends a successor that is given up, and returns when nothing of it is left: SIGTERM, and SIGKILL if it still runs
    /// `grace` milliseconds later. Otherwise it would keep the listening sockets and the lock.
    ///
    /// When the loop drains, nothing can wait: SIGKILL at once.
    package func abandon(on loop: EventLoop, grace: Int64 = 5_000) async {
        _ = kill(process, SIGTERM)
        let limit = loop.now.adding(milliseconds: grace)
        while ending() == nil {
            let isDraining = await !loop.sleep(until: loop.now.adding(milliseconds: 10))
            if isDraining || loop.now >= limit { _ = kill(process, SIGKILL) }
            // The process that adopts our children reaps it.
            if isDraining { return }
        }
    }

    /// Calls `body` with NUL-terminated texts in C's form of a list.
    private static func withPointers<Result>(
        to texts: [[CChar]],
        _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        let list = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: texts.count + 1)
        unsafe list.initialize(repeating: nil, count: texts.count + 1)
        for (index, text) in texts.enumerated() {
            let copy = UnsafeMutablePointer<CChar>.allocate(capacity: text.count)
            for (offset, character) in text.enumerated() { unsafe (copy + offset).initialize(to: character) }
            unsafe list[index] = copy
        }
        defer {
            for index in texts.indices { unsafe list[index]?.deallocate() }
            unsafe list.deallocate()
        }
        return try unsafe body(list)
    }
}

/// Descriptors that the service manager, or the previous server, has left open for us, as in sd_listen_fds(3).
package struct InheritedDescriptors: ~Copyable, Sendable {
    /// Why they cannot be used: one line for the operator.
    package struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String
    }

    /// By name, each with its descriptors in order.
    private var numbers: [(name: String, number: Int32)]

    package init() { numbers = [] }

    static let maximum = 1024

    /// Takes ownership of the descriptors 3, 4, … when `LISTEN_PID` is this process, and keeps them from programs it
    /// starts. Once per process: later the numbers may belong to others.
    /// - Parameter environment: uses `LISTEN_PID`, `LISTEN_FDS` and `LISTEN_FDNAMES`.
    package init(environment: [String: String]) throws(Refusal) {
        try self.init(environment: environment, process: getpid(), first: 3)
    }

    init(environment: [String: String], process: Int32, first: Int32) throws(Refusal) {
        numbers = []
        guard let pid = environment["LISTEN_PID"], pid == "\(process)" else { return }
        guard let text = environment["LISTEN_FDS"], let count = Int32(text), (0...Int32(Self.maximum)).contains(count)
        else { throw Refusal(description: "LISTEN_FDS is not a number of descriptors up to \(Self.maximum).") }
        let names = (environment["LISTEN_FDNAMES"] ?? "").split(separator: ":", omittingEmptySubsequences: false)
        guard count == 0 || names.count == Int(count) else {
            throw Refusal(
                description: """
                    LISTEN_FDNAMES names \(environment["LISTEN_FDNAMES"] == nil ? 0 : names.count) of the \(count) \
                    descriptors in LISTEN_FDS.
                    """)
        }
        for (index, name) in names.enumerated() where index < count {
            let number = first + Int32(index)
            guard fcntl(number, F_SETFD, FD_CLOEXEC) == 0 else {
                throw Refusal(description: "Descriptor \(number) of LISTEN_FDS is not open.")
            }
            numbers.append((String(name), number))
        }
    }

    deinit { for (_, number) in numbers { _ = Glibc.close(number) } }

    /// The names that have not been consumed yet.
    package var names: [String] { numbers.map(\.name) }

    package mutating func consume(_ name: String) -> [Int32] {
        let taken = numbers.filter { $0.name == name }.map(\.number)
        numbers.removeAll { $0.name == name }
        return taken
    }

    /// Consumes the listening sockets of a name, for this many loops; nil when there are none.
    /// - Throws: when one is not a listening TCP socket, or they listen on different addresses. They are then closed.
    package mutating func consumeSockets(_ name: String, count: Int) throws(Refusal) -> BoundSockets? {
        let taken = consume(name)
        guard !taken.isEmpty else { return nil }
        do {
            return try BoundSockets(inheriting: taken, count: count)
        } catch {
            throw Refusal(description: "What was inherited as \(name) cannot be listened on: \(error).")
        }
    }

    /// Consumes the previous process's lock on `path`; nil when there is none, or it belongs to another file.
    package mutating func consumeLock(_ name: String, of path: String) -> FileLock? {
        for number in consume(name) {
            if let lock = FileLock(inheriting: Descriptor(owning: number), of: path) { return lock }
        }
        return nil
    }

    /// Consumes the connection to the previous process; nil when there is none.
    package mutating func consumeConnection(_ name: String) -> ProcessConnection? {
        consume(name).map { ProcessConnection(Descriptor(owning: $0)) }.first
    }
}
