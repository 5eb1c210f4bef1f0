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
