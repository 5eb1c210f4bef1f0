import Coding

/// The smallest possible PNG (ISO/IEC 15948): grey and alpha, no filter, stored deflate blocks.
enum PNG {
    /// - Parameter rows: for each row a filter byte 0, then two bytes per pixel.
    static func encode(rows: [UInt8], width: Int, height: Int) -> [UInt8] {
        let header = [UInt8](bigEndian: UInt32(width)) + [UInt8](bigEndian: UInt32(height)) + [8, 4, 0, 0, 0]
        return [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
            + chunk("IHDR", header) + chunk("IDAT", stored(rows)) + chunk("IEND", [])
    }

    /// RFC 1950 around RFC 1951 §3.2.4.
    private static func stored(_ bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = [0x78, 0x01]
        var start = 0
        repeat {
            let count = min(65_535, bytes.count - start)
            let isLast = start + count == bytes.count
            output += [
                isLast ? 1 : 0, UInt8(count & 255), UInt8(count >> 8), UInt8(~count & 255), UInt8(~count >> 8 & 255),
            ]
            output += bytes[start..<start + count]
            start += count
        } while start < bytes.count
        return output + [UInt8](bigEndian: adler32(bytes))
    }

    private static func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
        let body = Array(type.utf8) + content
        return [UInt8](bigEndian: UInt32(content.count)) + body + [UInt8](bigEndian: crc32(body))
    }

    private static func adler32(_ bytes: [UInt8]) -> UInt32 {
        var (low, high): (UInt32, UInt32) = (1, 0)
        for byte in bytes {
            low = (low + UInt32(byte)) % 65_521
            high = (high + low) % 65_521
        }
        return high << 16 | low
    }

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? 0xedb8_8320 ^ value >> 1 : value >> 1 }
    }

    private static func crc32(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(~0) { table[Int(UInt8(truncatingIfNeeded: $0) ^ $1)] ^ $0 >> 8 }
    }
}
