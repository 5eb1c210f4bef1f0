internal import CLinux
internal import Glibc
internal import Synchronization

/// Bound, listening sockets on one address, one for each loop, not yet given to any.
package final class BoundSockets: Sendable {
    package let address: SocketAddress
    private let descriptors: Mutex<[Int32]>

    /// Binds one socket per loop to the same address with SO_REUSEPORT.
    ///
    /// The first bind is tried without it: a second process of the same user would otherwise share the port in
    /// silence and take half of the connections.
    ///
    /// - Parameter address: port 0 lets the kernel choose; `self.address` tells.
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
        descriptors = Mutex(bound)
    }

    deinit {
        while take() != nil {}
    }

    /// One socket that no loop has yet.
    func take() -> Descriptor? {
        descriptors.withLock { $0.popLast() }.map { Descriptor(owning: $0) }
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
