/// Draws a button with our own lettering and our own fruit, because Apple's artwork belongs to Apple.
struct ButtonImage {
    private let style: ButtonStyle
    private let background: Canvas
    private let inner: Canvas
    private var ink: Canvas

    init(_ style: ButtonStyle) {
        self.style = style
        let (width, height) = (style.width * style.scale, style.height * style.scale)
        let radius = Double(height * style.radius) / 100
        var background = Canvas(width: width, height: height)
        background.box(inset: 0, radius: radius)
        self.background = background
        var inner = Canvas(width: width, height: height)
        let border = Double(style.scale)
        inner.box(inset: border, radius: radius - border)
        self.inner = inner
        ink = Canvas(width: width, height: height)
        draw()
    }

    private mutating func draw() {
        let height = Double(ink.height)
        guard style.shape != .logo else {
            return fruit(at: Canvas.Point(Double(ink.width) / 2, height / 2), size: height * 0.22)
        }
        let text = style.label
        // The fruit takes the room of 1.2 capitals.
        let units = Lettering.width(of: text) + 1.2
        let capital = min(height * 0.31, Double(ink.width) * 0.88 / units)
        let start = style.shape == .left ? height * 0.3 : (Double(ink.width) - units * capital) / 2
        let baseline = (height + capital) / 2
        fruit(at: Canvas.Point(start, baseline) + capital * Canvas.Point(0.42, -0.42), size: capital * 0.42)
        for stroke in Lettering.strokes(of: text) {
            let points = stroke.map { Canvas.Point(start + (1.2 + $0.x) * capital, baseline - $0.y * capital) }
            ink.lines(points, radius: Lettering.weight * capital)
        }
    }

    /// A round fruit with a stalk and a leaf.
    private mutating func fruit(at middle: Canvas.Point, size: Double) {
        func at(_ x: Double, _ y: Double) -> Canvas.Point { middle + size * Canvas.Point(x, y) }
        ink.line(from: at(-0.3, 0), to: at(0.3, 0), radius: size * 0.78)
        ink.line(from: at(0, -0.7), to: at(0, -1.2), radius: size * 0.1)
        ink.line(from: at(0.25, -1.15), to: at(0.6, -1.4), radius: size * 0.2)
    }

    /// Grey and alpha, 8 bits each.
    func png() -> [UInt8] {
        let paper: Float = style.isWhite ? 1 : 0
        var rows: [UInt8] = []
        rows.reserveCapacity(ink.height * (ink.width * 2 + 1))
        for row in 0..<ink.height {
            rows.append(0)
            for column in 0..<ink.width {
                let index = row * ink.width + column
                var mark = ink.coverage[index]
                if style.hasBorder { mark = max(mark, background.coverage[index] - inner.coverage[index]) }
                let grey = paper + (1 - 2 * paper) * mark
                rows.append(UInt8(max(0, min(255, (grey * 255).rounded()))))
                rows.append(UInt8((background.coverage[index] * 255).rounded()))
            }
        }
        return PNG.encode(rows: rows, width: ink.width, height: ink.height)
    }
}

/// The parameters of a button image. Values out of range make it a 404, as at Apple.
struct ButtonStyle: Sendable, Hashable {
    /// By the path.
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
        self.shape = shape
        self.label = label
        self.height = height
        self.width = width
        self.radius = radius
        self.scale = scale
        isWhite = fields["color"] == "white"
        hasBorder = fields["border"] == "true"
    }
}
