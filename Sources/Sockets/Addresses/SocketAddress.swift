internal import CLinux
internal import Glibc

package struct SocketAddress: Hashable, Sendable {
    package var ip: IPAddress
    package var port: UInt16

    package init(ip: IPAddress, port: UInt16) {
        self.ip = ip
        self.port = port
    }

    var family: Int32 { ip.bitWidth == 32 ? AF_INET : AF_INET6 }

    /// Nil for families other than AF_INET and AF_INET6.
    init?(_ storage: sockaddr_storage) {
        var storage = storage
        switch Int32(storage.ss_family) {
        case AF_INET:
            // Invariant: ss_family says which of the two layouts the kernel wrote; both fit in sockaddr_storage.
            let address = unsafe withUnsafePointer(to: &storage) {
                unsafe $0.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { unsafe $0.pointee }
            }
            self.init(ip: .v4(UInt32(bigEndian: address.sin_addr.s_addr)), port: UInt16(bigEndian: address.sin_port))
        case AF_INET6:
            let address = unsafe withUnsafePointer(to: &storage) {
                unsafe $0.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { unsafe $0.pointee }
            }
            var octets = address.sin6_addr
            let (high, low) = unsafe withUnsafeBytes(of: &octets) {
                unsafe ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            }
            self.init(
                ip: .v6(UInt64(bigEndian: high), UInt64(bigEndian: low)),
                port: UInt16(bigEndian: address.sin6_port))
        default: return nil
        }
    }

    /// Calls `body` with the address in the kernel's layout, valid only during the call.
    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        switch ip {
        case .v4(let host):
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = host.bigEndian
            return unsafe withUnsafePointer(to: &address) {
                unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        case .v6(let high, let low):
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            unsafe withUnsafeMutableBytes(of: &address.sin6_addr) {
                unsafe $0.storeBytes(of: high.bigEndian, as: UInt64.self)
                unsafe $0.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
            }
            return unsafe withUnsafePointer(to: &address) {
                unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe body($0, socklen_t(MemoryLayout<sockaddr_in6>.size))
                }
            }
        }
    }
}
