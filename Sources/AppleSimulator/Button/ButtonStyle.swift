/// The parameters of a button image. Values out of range make it a 404, as at Apple.
struct ButtonStyle: Sendable, Hashable {
    enum Shape: String, Sendable {
        case centered = "/appleid/button"
        case left = "/appleid/button/left"
        case logo = "/appleid/button/logo"
    }

    let shape: Shape
    let label: String
    let isWhite: Bool
    let hasBorder: Bool
    /// In units of the unscaled button.
    let width: Int
    let height: Int
    /// Percent of the height.
    let radius: Int
    let scale: Int
}

extension ButtonStyle {
    init?(path: String, _ fields: FormFields) {
        func number(_ name: String, _ range: ClosedRange<Int>, _ fallback: Int) -> Int? {
            guard let text = fields.text(name) else { return fallback }
            guard let value = Int(text), range.contains(value) else { return nil }
            return value
        }
        let labels = ["sign-in": "Sign in with Apple", "continue": "Continue with Apple"]
        guard let shape = Shape(rawValue: path), let label = labels[fields.text("type") ?? "sign-in"],
            let height = number("height", 30...64, 30),
            let width = number("width", shape == .logo ? 30...375 : 130...375, shape == .logo ? height : 140),
            let radius = number("border_radius", 0...50, 15),
            let scale = number("scale", 1...6, 1),
            ["black", "white"].contains(fields.text("color") ?? "black"),
            ["true", "false"].contains(fields.text("border") ?? "false"),
            Endpoint.locales.contains(fields.text("locale") ?? "en_US")
        else { return nil }
        self.init(
            shape: shape, label: label, isWhite: fields["color"] == "white", hasBorder: fields["border"] == "true",
            width: width, height: height, radius: radius, scale: scale)
    }
}

// Draws a button with our own lettering and our own fruit, because Apple's artwork belongs to Apple.
extension ButtonStyle {
    /// Grey and alpha, 8 bits each.
    func png() -> [UInt8] {
        let (width, height) = (width * scale, height * scale)
        let radius = Double(height * self.radius) / 100
        let border = Double(scale)
        var (background, inner) = (Canvas(width, height), Canvas(width, height))
        background.box(inset: 0, radius: radius)
        inner.box(inset: border, radius: radius - border)
        let ink = ink(width, height)
        let paper: Float = isWhite ? 1 : 0
        var rows: [UInt8] = []
        rows.reserveCapacity(height * (width * 2 + 1))
        for row in 0..<height {
            rows.append(0)
            for column in 0..<width {
                let index = row * width + column
                var mark = ink.coverage[index]
                if hasBorder { mark = max(mark, background.coverage[index] - inner.coverage[index]) }
                let grey = paper + (1 - 2 * paper) * mark
                rows.append(UInt8(max(0, min(255, (grey * 255).rounded()))))
                rows.append(UInt8((background.coverage[index] * 255).rounded()))
            }
        }
        return ink.png(rows: rows)
    }

    /// The fruit, and the label beside it.
    private func ink(_ width: Int, _ height: Int) -> Canvas {
        var ink = Canvas(width, height)
        let (width, height) = (Double(width), Double(height))
        guard shape != .logo else {
            ink.fruit(at: Canvas.Point(width / 2, height / 2), size: height * 0.22)
            return ink
        }
        // The fruit takes the room of 1.2 capitals.
        let units = Lettering.width(of: label) + 1.2
        let capital = min(height * 0.31, width * 0.88 / units)
        let start = shape == .left ? height * 0.3 : (width - units * capital) / 2
        let baseline = (height + capital) / 2
        ink.fruit(at: Canvas.Point(start, baseline) + capital * Canvas.Point(0.42, -0.42), size: capital * 0.42)
        for stroke in Lettering.strokes(of: label) {
            let points = stroke.map { Canvas.Point(start + (1.2 + $0.x) * capital, baseline - $0.y * capital) }
            ink.lines(points, radius: Lettering.weight * capital)
        }
        return ink
    }
}

extension Canvas {
    /// A round fruit with a stalk and a leaf.
    fileprivate mutating func fruit(at middle: Point, size: Double) {
        func at(_ x: Double, _ y: Double) -> Point { middle + size * Point(x, y) }
        line(from: at(-0.3, 0), to: at(0.3, 0), radius: size * 0.78)
        line(from: at(0, -0.7), to: at(0, -1.2), radius: size * 0.1)
        line(from: at(0.25, -1.15), to: at(0.6, -1.4), radius: size * 0.2)
    }
}
