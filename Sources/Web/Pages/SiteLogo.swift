/// `site.logoFile`: the site's picture, which is served with the assets.
package struct SiteLogo: Hashable, Sendable {
    package static let maximumBytes = 262_144

    let bytes: [UInt8]
    /// Below `assets/`.
    package let name: String

    /// Nil for what is neither a PNG picture nor an SVG document.
    package init?(_ bytes: [UInt8]) {
        if Self.isPNG(bytes) {
            name = "logo.png"
        } else if Self.isSVG(bytes) {
            name = "logo.svg"
        } else {
            return nil
        }
        self.bytes = bytes
    }

    /// PNG §5.2 and §5.6: the signature, and the header first.
    private static func isPNG(_ bytes: [UInt8]) -> Bool {
        bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
            && bytes.dropFirst(12).starts(with: "IHDR".utf8)
    }

    /// XML 1.0 §2.8: before the root there may be a declaration, comments and a document type, but none that declares
    /// anything itself.
    private static func isSVG(_ bytes: [UInt8]) -> Bool {
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        let ends = [("<?", "?>"), ("<!--", "-->"), ("<!DOCTYPE", ">")]
        // XML 1.0 §4.3.3: it may begin with a byte order mark.
        var rest = (text.hasPrefix("\u{FEFF}") ? text.dropFirst() : text[...]).drop(while: \.isWhitespace)
        while let (begin, end) = ends.first(where: { rest.hasPrefix($0.0) }) {
            guard let range = rest.firstRange(of: end),
                begin != "<!DOCTYPE" || !rest[..<range.lowerBound].contains("[")
            else { return false }
            rest = rest[range.upperBound...].drop(while: \.isWhitespace)
        }
        guard let root = rest.prefixMatch(of: /<svg\s(?:[^<>"']|"[^"<]*"|'[^'<]*')*>/) else { return false }
        // Without its namespace, browsers do not draw it.
        return root.output.contains("http://www.w3.org/2000/svg")
    }
}
