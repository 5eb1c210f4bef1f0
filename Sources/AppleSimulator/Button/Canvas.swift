import Coding

/// The coverage of each pixel of a drawing, 0 to 1, with soft edges. Draws only thick lines and rounded boxes.
struct Canvas {
    typealias Point = SIMD2<Double>

    let width: Int
    let height: Int
    private(set) var coverage: [Float]

    init(_ width: Int, _ height: Int) {
        self.width = width
        self.height = height
        coverage = [Float](repeating: 0, count: width * height)
    }

    /// A line with round ends, `radius` to each side. Visits only the pixels around it.
    mutating func line(from start: Point, to end: Point, radius: Double) {
        let reach = radius + 1
        let columns = clamped(min(start.x, end.x) - reach, max(start.x, end.x) + reach, width)
        let rows = clamped(min(start.y, end.y) - reach, max(start.y, end.y) + reach, height)
        let line = end - start
        let square = (line * line).sum()
        for row in rows {
            for column in columns {
                let pixel = Point(Double(column) + 0.5, Double(row) + 0.5) - start
                let along = square == 0 ? 0 : min(1, max(0, (pixel * line).sum() / square))
                let distance = pixel - along * line
                cover(column, row, radius - (distance * distance).sum().squareRoot())
            }
        }
    }

    mutating func lines(_ points: [Point], radius: Double) {
        for (start, end) in zip(points, points.dropFirst()) { line(from: start, to: end, radius: radius) }
        if points.count == 1 { line(from: points[0], to: points[0], radius: radius) }
    }

    mutating func box(inset: Double, radius: Double) {
        let (halfWidth, halfHeight) = (Double(width) / 2 - inset, Double(height) / 2 - inset)
        let corner = max(0, min(radius, halfWidth, halfHeight))
        for row in 0..<height {
            let y = abs(Double(row) + 0.5 - Double(height) / 2) - (halfHeight - corner)
            for column in 0..<width {
                let x = abs(Double(column) + 0.5 - Double(width) / 2) - (halfWidth - corner)
                let outside = (max(x, 0) * max(x, 0) + max(y, 0) * max(y, 0)).squareRoot()
                cover(column, row, corner - outside - min(max(x, y), 0))
            }
        }
    }

    /// - Parameter depth: how far inside the shape the pixel's centre is.
    private mutating func cover(_ column: Int, _ row: Int, _ depth: Double) {
        let value = Float(min(1, max(0, depth + 0.5)))
        let index = row * width + column
        if value > coverage[index] { coverage[index] = value }
    }

    private func clamped(_ low: Double, _ high: Double, _ count: Int) -> Range<Int> {
        let start = min(count, max(0, Int(low.rounded(.down))))
        return start..<max(start, min(count, Int(high.rounded(.up))))
    }
}

// The smallest possible PNG (ISO/IEC 15948): grey and alpha, no filter, stored deflate blocks.
extension Canvas {
    /// - Parameter rows: for each row of its size a filter byte 0, then two bytes per pixel.
    func png(rows: [UInt8]) -> [UInt8] {
        let header = [UInt8](bigEndian: UInt32(width)) + [UInt8](bigEndian: UInt32(height)) + [8, 4, 0, 0, 0]
        return [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
            + Self.chunk("IHDR", header) + Self.chunk("IDAT", Self.stored(rows)) + Self.chunk("IEND", [])
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
