/// `site.accentColor`: the colour of links and buttons, readable on the pages' backgrounds in light and dark mode.
package struct AccentColor: Hashable, Sendable {
    /// Of text and what is behind it (WCAG 2.2 §1.4.3).
    package static let minimumContrast = 4.5
    /// `--ground` and `--surface` of `bramley.css`.
    static let light = (ground: RGB(0xF4_F4EF), surface: RGB(0xFF_FFFF))
    static let dark = (ground: RGB(0x12_1411), surface: RGB(0x1D_201C))
    private static let white = RGB(0xFF_FFFF)

    private let color: RGB

    /// Nil unless it is `#rrggbb`.
    package init?(_ text: String) {
        guard text.utf8.count == 7, text.utf8.first == UInt8(ascii: "#"),
            text.utf8.dropFirst().allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }),
            let value = UInt32(text.dropFirst(), radix: 16)
        else { return nil }
        color = RGB(value)
    }

    private init(_ color: RGB) { self.color = color }

    package var text: String { color.text }

    /// With the light background it differs less from; what is readable there is readable under white text, too.
    package var contrast: Double { color.contrast(Self.light.ground) }

    package var isReadable: Bool { contrast >= Self.minimumContrast }

    /// The next darker one that is readable.
    package var darkened: AccentColor { AccentColor(steps(to: RGB(0)).first { AccentColor($0).isReadable } ?? RGB(0)) }

    /// Itself in dark mode, or the next lighter one that is readable there.
    package var lightened: AccentColor {
        let readable = steps(to: Self.white).first { lighter in
            [Self.dark.ground, Self.dark.surface, Self.tint(lighter, on: Self.dark.surface, percent: 16)]
                .allSatisfy { $0.contrast(lighter) >= Self.minimumContrast }
        }
        return AccentColor(readable ?? Self.white)
    }

    private func steps(to end: RGB) -> some Sequence<RGB> { (0...100).lazy.map { color.mixed(with: end, percent: $0) } }

    /// As strong as it can be behind text of this colour.
    private static func tint(_ color: RGB, on surface: RGB, percent: Int) -> RGB {
        surface.mixed(with: color, percent: percent)
    }

    /// To follow the style sheet's own colours.
    var style: String {
        let soft = (0...12).reversed().lazy.map { Self.tint(color, on: Self.light.surface, percent: $0) }
            .first { $0.contrast(color) >= Self.minimumContrast }
        let (lighter, ink) = (lightened.color, Self.dark.ground)
        let darkSoft = Self.tint(lighter, on: Self.dark.surface, percent: 16)
        return """

            /* site.accentColor */
            :root { --accent: \(text); --accent-ink: #ffffff; --accent-soft: \((soft ?? Self.white).text); }
            @media (prefers-color-scheme: dark) {
              :root { --accent: \(lighter.text); --accent-ink: \(ink.text); --accent-soft: \(darkSoft.text); }
            }

            """
    }
}

/// A colour of sRGB.
struct RGB: Hashable, Sendable {
    private let parts: [Int]

    init(_ value: UInt32) { parts = [16, 8, 0].map { Int(value >> $0 & 0xFF) } }

    private init(parts: [Int]) { self.parts = parts }

    var text: String {
        "#" + parts.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    func mixed(with other: RGB, percent: Int) -> RGB {
        RGB(parts: zip(parts, other.parts).map { ($0 * (100 - percent) + $1 * percent + 50) / 100 })
    }

    /// WCAG 2.2, "contrast ratio".
    func contrast(_ other: RGB) -> Double {
        let (own, others) = (luminance, other.luminance)
        return (max(own, others) + 0.05) / (min(own, others) + 0.05)
    }

    /// WCAG 2.2, "relative luminance".
    private var luminance: Double { zip([0.2126, 0.7152, 0.0722], parts).reduce(0) { $0 + $1.0 * Self.linear($1.1) } }

    private static func linear(_ part: Int) -> Double {
        let value = Double(part) / 255
        guard value > 0.04045 else { return value / 12.92 }
        let base = (value + 0.055) / 1.055
        // To the power of 2.4, by Newton's fifth root.
        var root = 1.0
        for _ in 0..<12 {
            let fourth = root * root * root * root
            root -= (fourth * root - base) / (5 * fourth)
        }
        return base * base * root * root
    }
}
