internal import CLinux
internal import Glibc

/// What the service manager, or the server before this one, has left open for us, as sd_listen_fds(3) describes it.
package struct InheritedDescriptors: ~Copyable, Sendable {
    /// Why what is there cannot be used: one line for the operator.
    package struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String
    }

    /// By name, each name with its descriptors in their order.
    private var numbers: [(name: String, number: Int32)]

    /// Nothing.
    package init() {
        numbers = []
    }

    /// Maximum number of inherited descriptors.
    static let maximum = 1024

    /// Takes the descriptors 3, 4, … into ownership, when `LISTEN_PID` is this process, and keeps them from programs that
    /// it starts. Once a process: a second time the numbers may be others'.
    /// - Parameter environment: `LISTEN_PID`, `LISTEN_FDS` and `LISTEN_FDNAMES` of it count.
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

    /// The names of what has not been taken yet.
    package var names: [String] { numbers.map(\.name) }

    /// Takes all descriptors of a name.
    package mutating func consume(_ name: String) -> [Int32] {
        let taken = numbers.filter { $0.name == name }.map(\.number)
        numbers.removeAll { $0.name == name }
        return taken
    }

    /// Takes the listening sockets of a name, for so many loops; nil when there are none.
    /// - Throws: when one is no listening TCP socket, or they listen on several addresses. They are closed then.
    package mutating func consumeSockets(_ name: String, count: Int) throws(Refusal) -> BoundSockets? {
        let taken = consume(name)
        guard !taken.isEmpty else { return nil }
        do throws(SystemError) {
            return try BoundSockets(inheriting: taken, count: count)
        } catch {
            throw Refusal(description: "What was inherited as \(name) cannot be listened on: \(error).")
        }
    }

    /// Takes the lock a process before this one holds on `path`; nil when it is not that file's, or nobody left one.
    package mutating func consumeLock(_ name: String, of path: String) -> FileLock? {
        for number in consume(name) {
            if let lock = FileLock(inheriting: Descriptor(owning: number), of: path) { return lock }
        }
        return nil
    }

    /// Takes the connection to the process before this one; nil when nobody left one.
    package mutating func consumeConnection(_ name: String) -> ProcessConnection? {
        consume(name).map { ProcessConnection(Descriptor(owning: $0)) }.first
    }
}
