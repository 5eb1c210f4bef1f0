internal import CLinux
internal import Glibc
internal import Synchronization

/// Resolves names through the system's getaddrinfo(3), which blocks: each lookup has a short-lived thread, so that a
/// slow name server delays no loop.
package final class Resolver: Sendable {
    private let running = Mutex(0)
    private let maximum: Int

    /// - Parameter maximum: concurrent lookups; one more is refused.
    package init(maximum: Int = 16) { self.maximum = maximum }

    /// Both address families, in the system's order (RFC 6724); empty when the name does not resolve before `deadline`.
    /// A literal address is answered at once. Call it on the loop.
    package func resolve(
        _ host: String, port: UInt16, on loop: EventLoop, deadline: Deadline
    ) async -> [SocketAddress] {
        if let literal = IPAddress(host) { return [SocketAddress(ip: literal, port: port)] }
        let isAdmitted = running.withLock { running in
            guard running < maximum else { return false }
            running += 1
            return true
        }
        guard isAdmitted else { return [] }
        let timer = TimerChannel(loop: loop)
        guard (try? loop.register(timer)) != nil else {
            running.withLock { $0 -= 1 }
            return []
        }
        timer.setDeadline(deadline)
        let answer = Answer()
        let done: @Sendable ([SocketAddress]) -> Void = { [self] addresses in
            running.withLock { $0 -= 1 }
            answer.addresses.withLock { $0 = addresses }
            loop.execute { timer.cancel() }
        }
        do {
            _ = pthread_detach(try SystemThread.start { done(Self.addresses(of: host, port: port)) })
        } catch {
            done([])
        }
        _ = await timer.wait()
        return answer.addresses.withLock { $0 }
    }

    private final class Answer: Sendable {
        let addresses = Mutex<[SocketAddress]>([])
    }

    private static func addresses(of host: String, port: UInt16) -> [SocketAddress] {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        unsafe hints.ai_family = AF_UNSPEC
        var list: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(host, nil, &hints, &list) == 0 else { return [] }
        defer { unsafe freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var next = unsafe list
        while let entry = unsafe next {
            // Invariant: ai_addr points to ai_addrlen bytes, which for AF_INET and AF_INET6 fit sockaddr_storage.
            var storage = sockaddr_storage()
            let length = unsafe min(Int(entry.pointee.ai_addrlen), MemoryLayout<sockaddr_storage>.size)
            if let address = unsafe entry.pointee.ai_addr {
                unsafe withUnsafeMutableBytes(of: &storage) {
                    unsafe $0.copyMemory(from: UnsafeRawBufferPointer(start: address, count: length))
                }
            }
            if var address = SocketAddress(storage) {
                address.port = port
                if !addresses.contains(address) { addresses.append(address) }
            }
            unsafe next = unsafe entry.pointee.ai_next
        }
        return addresses
    }
}
