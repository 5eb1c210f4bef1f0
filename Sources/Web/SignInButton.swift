/// `button.*`: how Apple draws its button (`data-*` attributes of its script, parameters of its picture).
package struct SignInButton: Sendable {
    package enum Color: String, Sendable, CaseIterable { case black, white }
    package enum Kind: String, Sendable, CaseIterable {
        case signIn = "sign-in"
        case `continue`
        case signUp = "sign-up"
    }
    package enum Mode: String, Sendable, CaseIterable {
        case centerAlign = "center-align"
        case leftAlign = "left-align"
        case logoOnly = "logo-only"
    }
    package enum LogoSize: String, Sendable, CaseIterable { case small, medium, large }

    /// Nil follows the visitor's colour scheme: black on light pages, white on dark ones.
    package var color: Color?
    package var kind = Kind.signIn
    package var mode = Mode.centerAlign
    package var border = true
    /// Pixels, 0–50.
    package var borderRadius = 15
    /// Pixels, 130–375; nil fills the column.
    package var width: Int? = 280
    /// Pixels, 30–64.
    package var height = 44
    /// Pixels; logo-only buttons.
    package var size = 44
    /// Left-aligned buttons.
    package var logoSize = LogoSize.small
    /// Pixels; left-aligned buttons.
    package var logoPosition: Int?
    /// Pixels; left-aligned buttons.
    package var labelPosition: Int?

    package init() {}

    /// The `data-*` attributes for Apple's script, without the prefix.
    var attributes: [(name: String, value: String)] {
        var list: [(name: String, value: String)] = [
            ("mode", mode.rawValue), ("type", kind.rawValue), ("color", (color ?? .black).rawValue),
            ("border", border ? "true" : "false"), ("border-radius", String(borderRadius)),
        ]
        switch mode {
        case .logoOnly:
            list.append(("size", String(size)))
        case .centerAlign, .leftAlign:
            // The page sizes the element itself, so that it also shrinks on a narrow screen.
            list.append(("width", "100%"))
            list.append(("height", "100%"))
        }
        if mode == .leftAlign {
            list.append(("logo-size", logoSize.rawValue))
            if let logoPosition { list.append(("logo-position", String(logoPosition))) }
            if let labelPosition { list.append(("label-position", String(labelPosition))) }
        }
        return list
    }

    var cssWidth: String {
        if mode == .logoOnly { return "\(size)px" }
        return width.map { "\($0)px" } ?? "100%"
    }

    var cssHeight: String { "\(mode == .logoOnly ? size : height)px" }

    /// Apple's picture of the button, from the `origin` of `apple.scriptURL`, for browsers without scripts.
    func pictureURL(origin: String, color: Color, locale: String) -> String {
        let path =
            switch mode {
            case .centerAlign: "/appleid/button"
            case .leftAlign: "/appleid/button/left"
            case .logoOnly: "/appleid/button/logo"
            }
        // There is no "sign-up" picture; unknown types get 404.
        let type = kind == .continue ? "continue" : "sign-in"
        let shape = mode == .logoOnly ? "&size=\(size)" : "&width=\(width ?? 375)&height=\(height)"
        return "\(origin)\(path)?color=\(color.rawValue)&border=\(border)&type=\(type)&border_radius=\(borderRadius)"
            + "\(shape)&scale=2&locale=\(locale)"
    }
}
