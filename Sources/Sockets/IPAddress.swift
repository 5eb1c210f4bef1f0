/// An IPv4 or IPv6 address, without port.
package enum IPAddress: Hashable, Sendable {
    /// Host byte order: 127.0.0.1 is `0x7F00_0001`.
    case v4(UInt32)
    /// The high and the low eight octets, each big-endian.
    case v6(UInt64, UInt64)
}
