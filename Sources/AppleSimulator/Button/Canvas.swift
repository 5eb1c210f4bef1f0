/// The coverage of each pixel of a drawing, 0 to 1, with soft edges. Draws only thick lines and rounded boxes.
struct Canvas {
    typealias Point = SIMD2<Double>

    let width: Int
    let height: Int
    private(set) var coverage: [Float]

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
        coverage = [Float](repeating: 0, count: width * height)
    }

    /// A line with round ends, `radius` to each side. Visits only the pixels around it.
    mutating func line(from start: Point, to end: Point, radius: Double) {
        let reach = radius + 1
        let columns = clamped(min(start.x, end.x) - reach, max(start.x, end.x) + reach, width)
        let rows = clamped(min(start.y, end.y) - reach, max(start.y, end.y) + reach, height)
        let way = end - start
        let square = (way * way).sum()
        for row in rows {
            for column in columns {
                let pixel = Point(Double(column) + 0.5, Double(row) + 0.5) - start
                let along = square == 0 ? 0 : min(1, max(0, (pixel * way).sum() / square))
                let distance = pixel - along * way
                cover(column, row, radius - (distance * distance).sum().squareRoot())
            }
        }
    }

    mutating func lines(_ points: [Point], radius: Double) {
        for (start, end) in zip(points, points.dropFirst()) { line(from: start, to: end, radius: radius) }
        if points.count == 1 { line(from: points[0], to: points[0], radius: radius) }
    }

    /// A filled box, `inset` from the edges, with round corners.
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
