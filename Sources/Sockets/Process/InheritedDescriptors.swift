internal import CLinux
internal import Glibc

/// Descriptors that the service manager, or the previous server, has left open for us, as in sd_listen_fds(3).
package struct InheritedDescriptors: ~Copyable, Sendable {
    /// Why they cannot be used: one line for the operator.
    package struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String
    }

    /// By name, each with its descriptors in order.
    private var numbers: [(name: String, number: Int32)]

    /// No descriptors.
    package init() {
        numbers = []
    }

    /// Maximum number of inherited descriptors.
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

    deinit {
        for (_, number) in numbers { _ = Glibc.close(number) }
    }

    /// The names that have not been consumed yet.
    package var names: [String] { numbers.map(\.name) }

    /// Consumes all descriptors of a name.
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
        do throws(SystemError) {
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
