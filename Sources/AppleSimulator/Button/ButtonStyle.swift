/// The parameters of a button image. Values out of range make it a 404, as at Apple.
struct ButtonStyle: Sendable, Hashable {
    enum Shape: Sendable { case centered, left, logo }
    enum Label: String, Sendable {
        case signIn = "sign-in"
        case `continue`

        var text: String {
            switch self {
            case .signIn: "Sign in with Apple"
            case .continue: "Continue with Apple"
            }
        }
    }

    var shape: Shape
    var label: Label
    var isWhite: Bool
    var hasBorder: Bool
    /// In units of the unscaled button.
    var width: Int
    var height: Int
    /// Percent of the height.
    var radius: Int
    var scale: Int

    init?(path: String, _ fields: FormFields) {
        switch path {
        case "/appleid/button": shape = .centered
        case "/appleid/button/left": shape = .left
        case "/appleid/button/logo": shape = .logo
        default: return nil
        }
        func number(_ name: String, _ range: ClosedRange<Int>, _ fallback: Int) -> Int? {
            guard let text = fields.text(name) else { return fallback }
            guard let value = Int(text), range.contains(value) else { return nil }
            return value
        }
        guard let label = Label(rawValue: fields.text("type") ?? "sign-in"),
            let height = number("height", 30...64, 30),
            let width = number("width", shape == .logo ? 30...375 : 130...375, shape == .logo ? height : 140),
            let radius = number("border_radius", 0...50, 15),
            let scale = number("scale", 1...6, 1),
            ["black", "white"].contains(fields.text("color") ?? "black"),
            ["true", "false"].contains(fields.text("border") ?? "false"),
            Route.locales.contains(fields.text("locale") ?? "en_US")
        else { return nil }
        self.label = label
        self.height = height
        self.width = width
        self.radius = radius
        self.scale = scale
        isWhite = fields["color"] == "white"
        hasBorder = fields["border"] == "true"
    }
}
