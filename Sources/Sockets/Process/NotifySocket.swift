internal import CLinux
internal import Glibc

/// The service manager's socket, as in sd_notify(3): datagrams of `NAME=value` lines to `NOTIFY_SOCKET`.
package struct NotifySocket: Hashable, Sendable {
    /// In the kernel's form: an abstract name begins with NUL.
    private let name: [UInt8]

    /// - Parameter text: the value of `NOTIFY_SOCKET`: an absolute path, or an abstract name after `@`. Nil for
    ///   anything else, and for a name longer than a Unix socket's may be (107 bytes).
    package init?(_ text: String) {
        var name = Array(text.utf8)
        guard name.count > 1, name.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path), !name.contains(0) else {
            return nil
        }
        switch name[0] {
        case UInt8(ascii: "/"): break
        case UInt8(ascii: "@"): name[0] = 0
        default: return nil
        }
        self.name = name
    }

    /// Sends one datagram, without waiting: a service manager that does not read must not block the server.
    /// - Throws: when it was not delivered.
    package func send(_ lines: String) throws(SystemError) {
        let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = Descriptor(owning: try SystemCalls.retrying("socket") { socket(AF_UNIX, kind, 0) })
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: name) }
        // The given length ends an abstract name; a NUL ends a path.
        let offset = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
        let length = socklen_t(offset + name.count + (name[0] == 0 ? 0 : 1))
        let (number, bytes) = (descriptor.number, Array(lines.utf8))
        _ = try SystemCalls.retrying("sendto") {
            // Invariant: both pointers are valid during the call, with the lengths that are passed.
            unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    unsafe Int32(
                        clamping: sendto(
                            number, bytes, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL), address, length))
                }
            }
        }
    }

    /// For `MONOTONIC_USEC=`.
    package static var monotonicMicroseconds: Int64 { SystemCalls.monotonicNow() / 1000 }
    package static var process: Int32 { getpid() }
}
