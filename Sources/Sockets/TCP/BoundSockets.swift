internal import CLinux
internal import Glibc
internal import Synchronization

/// Bound, listening sockets on one address, for the listeners of the loops.
package final class BoundSockets: Sendable {
    private struct State {
        /// Not yet assigned to a listener.
        var waiting: [Int32]
        /// Open, waiting or with a listener: what a successor inherits.
        var open: [Int32]
    }

    package let address: SocketAddress
    /// The number of listeners needed, so that every socket has one. At least one per loop.
    package let count: Int
    /// Whether several listeners share one socket, so that each connection should wake only one of them.
    let isShared: Bool
    private let state: Mutex<State>

    /// Binds one socket per loop to the same address with SO_REUSEPORT.
    ///
    /// The first bind is made without it: another process of the user would silently take half the connections.
    ///
    /// - Parameter address: with port 0 the kernel chooses; `self.address` has the result.
    package init(address: SocketAddress, count: Int, backlog: Int32 = 1024) throws(SystemError) {
        do {
            let probe = try Self.open(address)
            try SystemCalls.bind(probe.number, to: address)
        }
        var bound: [Int32] = []
        var exact = address
        do {
            for _ in 0..<count {
                let descriptor = try Self.open(address)
                try SystemCalls.setOption(descriptor.number, level: SOL_SOCKET, SO_REUSEPORT, 1)
                try SystemCalls.bind(descriptor.number, to: exact)
                exact = try SystemCalls.localAddress(descriptor.number)
                try SystemCalls.listen(descriptor.number, backlog: backlog)
                bound.append(descriptor.release())
            }
        } catch {
            for number in bound { _ = Glibc.close(number) }
            throw error
        }
        self.address = exact
        self.count = bound.count
        isShared = false
        state = Mutex(State(waiting: bound, open: bound))
    }

    /// Takes over bound sockets: one per loop; fewer, which loops share; or more, of which a loop gets several.
    /// - Parameters:
    ///   - numbers: descriptors, at least one; closed when this throws.
    ///   - count: the number of loops.
    package init(inheriting numbers: [Int32], count: Int) throws(SystemError) {
        // A process that shares a socket among its loops passes on as many copies of it.
        let originals = Self.withoutCopies(numbers)
        var held = originals
        do throws(SystemError) {
            var address: SocketAddress?
            for number in originals {
                guard try SystemCalls.isListening(number) else { throw SystemError(call: "getsockopt", code: EINVAL) }
                let here = try SystemCalls.localAddress(number)
                guard address == nil || address == here else { throw SystemError(call: "getsockname", code: EINVAL) }
                address = here
                let flags = try SystemCalls.retrying("fcntl") { fcntl(number, F_GETFL) }
                _ = try SystemCalls.retrying("fcntl") { fcntl(number, F_SETFL, flags | O_NONBLOCK) }
            }
            while held.count < count {
                let original = originals[held.count % originals.count]
                held.append(try SystemCalls.retrying("fcntl") { fcntl(original, F_DUPFD_CLOEXEC, 3) })
            }
            guard let address else { throw SystemError(call: "getsockname", code: EINVAL) }
            self.address = address
        } catch {
            for number in held { _ = Glibc.close(number) }
            throw error
        }
        self.count = held.count
        isShared = held.count > originals.count
        state = Mutex(State(waiting: held, open: held))
    }

    deinit { while consume() != nil {} }

    package func share(of index: Int, among loops: Int) -> Range<Int> {
        0..<(index < loops ? (count + loops - 1 - index) / loops : 0)
    }

    /// One socket without a listener.
    func consume() -> Descriptor? { state.withLock { $0.waiting.popLast() }.map { Descriptor(owning: $0) } }

    func close(_ number: Int32) {
        state.withLock { state in
            state.open.removeAll { $0 == number }
            _ = Glibc.close(number)
        }
    }

    /// Calls `body` with the numbers of all sockets, which stay open during the call.
    package func withDescriptors<Result: Sendable, Failure: Error>(
        _ body: ([Int32]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try state.withLock { state throws(Failure) in try body(state.open) }
    }

    /// Keeps one descriptor of each socket and closes the others.
    private static func withoutCopies(_ numbers: [Int32]) -> [Int32] {
        var seen: Set<UInt64> = []
        return numbers.filter { number in
            guard let identity = SystemCalls.identity(number), !seen.insert(identity).inserted else { return true }
            _ = Glibc.close(number)
            return false
        }
    }

    private static func open(_ address: SocketAddress) throws(SystemError) -> Descriptor {
        let descriptor = try SystemCalls.socket(family: address.family)
        try SystemCalls.setOption(descriptor.number, level: SOL_SOCKET, SO_REUSEADDR, 1)
        if address.family == AF_INET6 {
            try SystemCalls.setOption(descriptor.number, level: Int32(IPPROTO_IPV6), IPV6_V6ONLY, 1)
        }
        return descriptor
    }
}

/// Handles SIGTERM and SIGINT from binding the first socket until something else does: by default they would end the
/// process, with connections in its queues.
package enum StopSignals {
    /// From now on they are recorded.
    package static func remember() { bramley_remember_stop_signals() }

    /// Whether one arrived before something else handled them.
    package static var wereSeen: Bool { bramley_stop_was_asked() != 0 }
}
