import Glibc

/// The few letters a button needs, as strokes: the baseline is 0, capitals are 1 high, y points up.
struct Lettering {
    typealias Point = Canvas.Point

    private struct Glyph {
        var advance: Double
        var strokes: [[Point]]
    }

    private static let gap = 0.17
    static let weight = 0.062

    static func width(of text: String) -> Double { text.reduce(-gap) { $0 + glyph($1).advance + gap } }

    static func strokes(of text: String) -> [[Point]] {
        var x = 0.0
        var strokes: [[Point]] = []
        for character in text {
            let glyph = glyph(character)
            strokes += glyph.strokes.map { $0.map { $0 + Point(x, 0) } }
            x += glyph.advance + gap
        }
        return strokes
    }

    private static func glyph(_ character: Character) -> Glyph {
        switch character {
        case "A": Glyph(advance: 0.74, strokes: [path(0, 0, 0.37, 1, 0.74, 0), path(0.13, 0.35, 0.61, 0.35)])
        case "C": Glyph(advance: 0.76, strokes: [arc(0.45, 0.5, 0.45, 0.5, 48, 312)])
        case "S":
            Glyph(
                advance: 0.56, strokes: [arc(0.28, 0.75, 0.26, 0.25, 30, 270) + arc(0.28, 0.25, 0.28, 0.25, 90, -150)])
        case "e": Glyph(advance: 0.56, strokes: [path(0.01, 0.36, 0.55, 0.36) + arc(0.28, 0.34, 0.28, 0.34, 4, 318)])
        case "g": Glyph(advance: 0.56, strokes: [bowl, path(0.56, 0.68, 0.56, 0) + arc(0.28, 0, 0.28, 0.28, 0, -150)])
        case "h": Glyph(advance: 0.48, strokes: [path(0, 0, 0, 1), shoulder])
        case "i": Glyph(advance: 0.02, strokes: [path(0, 0, 0, 0.68), path(0, 0.93)])
        case "l": Glyph(advance: 0.02, strokes: [path(0, 0, 0, 1)])
        case "n": Glyph(advance: 0.48, strokes: [path(0, 0, 0, 0.68), shoulder])
        case "o": Glyph(advance: 0.6, strokes: [arc(0.3, 0.34, 0.3, 0.34, 0, 360)])
        case "p": Glyph(advance: 0.56, strokes: [path(0, -0.28, 0, 0.68), bowl])
        case "t":
            Glyph(
                advance: 0.34,
                strokes: [path(0.12, 0.9) + arc(0.3, 0.18, 0.18, 0.18, 180, 280), path(0, 0.68, 0.33, 0.68)])
        case "u":
            Glyph(
                advance: 0.48,
                strokes: [path(0, 0.68) + arc(0.24, 0.26, 0.24, 0.26, 180, 360), path(0.48, 0.68, 0.48, 0)])
        case "w": Glyph(advance: 0.84, strokes: [path(0, 0.68, 0.21, 0, 0.42, 0.64, 0.63, 0, 0.84, 0.68)])
        default: Glyph(advance: 0.16, strokes: [])
        }
    }

    private static let bowl = arc(0.28, 0.34, 0.28, 0.34, 0, 360)
    private static let shoulder = arc(0.24, 0.42, 0.24, 0.26, 180, 0) + path(0.48, 0)

    private static func path(_ numbers: Double...) -> [Point] {
        stride(from: 0, to: numbers.count - 1, by: 2).map { Point(numbers[$0], numbers[$0 + 1]) }
    }

    /// Degrees, counter-clockwise from the right.
    private static func arc(
        _ x: Double, _ y: Double, _ radiusX: Double, _ radiusY: Double, _ start: Double, _ end: Double
    ) -> [Point] {
        let steps = 24
        return (0...steps).map { step in
            let angle = (start + (end - start) * Double(step) / Double(steps)) * .pi / 180
            return Point(x + radiusX * cos(angle), y + radiusY * sin(angle))
        }
    }
}
