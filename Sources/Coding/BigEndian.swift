// Whole numbers as bytes in network byte order, the most significant byte first.

extension [UInt8] {
    /// The bytes of a number, as many as its type has.
    @inlinable
    package init(bigEndian value: some FixedWidthInteger) {
        self = stride(from: value.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: value >> $0) }
    }
}

extension FixedWidthInteger {
    /// The number these bytes are. Of more bytes than the type has, the last ones.
    @inlinable
    package init(bigEndianBytes bytes: some Sequence<UInt8>) {
        self = bytes.reduce(0) { $0 << 8 | Self(truncatingIfNeeded: $1) }
    }
}
