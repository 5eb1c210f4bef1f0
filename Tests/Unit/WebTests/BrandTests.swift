import HTTP
import HTTPTypes
import Public
import Testing

@testable import Web

/// `site.logoFile` and `site.accentColor`.
@Suite struct BrandTests {
    static let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 9 9\"><script>x()</script></svg>"
    static let png: [UInt8] = [0x89] + Array("PNG\r\n\u{1A}\n\0\0\0\u{0D}IHDR".utf8)

    @Test(
        "A logo is a PNG or SVG by its content",
        arguments: [
            (svg, "logo.svg"), ("\u{FEFF}" + svg, "logo.svg"), ("\u{FEFF}\u{FEFF}" + svg, nil),
            ("\n<?xml version='1.0'?>\n<!-- > -->\n<!DOCTYPE svg PUBLIC \"-//W3C//\">" + svg, "logo.svg"),
            ("<svg width='1'\nxmlns='http://www.w3.org/2000/svg'/>", "logo.svg"), ("<svg/>", nil), ("", nil),
            ("<svg viewBox='0 0 1 1'/>", nil), ("<html>\(svg)</html>", nil), ("<!-- \(svg)", nil), ("x" + svg, nil),
            ("<svgx xmlns=\"http://www.w3.org/2000/svg\"/>", nil), ("<!DOCTYPE svg [<!ENTITY a \"a\">]>" + svg, nil),
            ("GIF89a", nil), ("\u{89}PNG\r\n\u{1A}\nIHDR", nil),
        ])
    func content(_ text: String, name: String?) {
        #expect(SiteLogo(Array(text.utf8))?.name == name)
    }

    @Test func aPNGNeedsItsHeader() {
        #expect(SiteLogo(Self.png)?.name == "logo.png")
        #expect(SiteLogo(Self.png.dropLast()) == nil)
    }

    private static func site(_ adjust: @escaping (inout WebConfiguration.Site) -> Void) throws -> Site {
        try Site(adjust: { adjust(&$0.site) })
    }

    @Test func theLogoIsServedWithoutScriptsAndKeptForGood() async throws {
        let site = try Self.site { $0.logoFile = SiteLogo(Array(Self.svg.utf8)) }
        let page = await site.get("/login").text
        let link = try #require(
            page.firstMatch(of: /src="(\/assets\/logo\.svg\?v=[0-9a-f]{16})" alt="Example Orchard"/)?.1)
        let header = try #require(page.firstMatch(of: /(?s)<header.*<\/header>/)?.output)
        #expect(!header.contains("class=\"name\"") && !header.contains("monogram"))
        let logo = await site.get(String(link))
        #expect(logo.text == Self.svg && logo.fields[.contentType] == "image/svg+xml")
        #expect(logo.policy == "default-src 'none'; style-src 'unsafe-inline'; sandbox")
        #expect(logo.fields[.xContentTypeOptions] == "nosniff")
        #expect(logo.fields[.cacheControl] == "public, max-age=31536000, immutable")
        let tag = try #require(logo.fields[.eTag])
        #expect(await site.get("/assets/logo.svg", [.ifNoneMatch: tag]).status == .notModified)
    }

    @Test func withoutALogoTheNameIsThere() async throws {
        #expect(await (try Site()).get("/login").text.contains("<span class=\"name\">Example Orchard</span>"))
        #expect(await (try Site()).get("/assets/logo.svg").status == .notFound)
    }

    @Test func theColourFollowsTheStyleSheetEverywhere() async throws {
        let color = try #require(AccentColor("#B00020"))
        let (plain, site) = (try Site(), try Self.site { $0.accentColor = color })
        let css = await site.get("/assets/bramley.css").text
        let before = await plain.get("/assets/bramley.css").text
        #expect(css == before + color.style)
        #expect(color.style.contains("--accent: #b00020;"))
        func link(_ site: Site) async -> String? {
            await site.get("/login").text.firstMatch(of: /assets\/bramley\.css\?v=[0-9a-f]+/).map { String($0.output) }
        }
        let (branded, unbranded) = (await link(site), await link(plain))
        #expect(branded != nil && branded != unbranded)
        // A page without other files has it as well, and its policy admits it.
        let pages = try Pages(configuration: site.configuration)
        #expect(pages.inlineStyle.text == css)
    }

    @Test("The contrast is WCAG's", arguments: [(0xFF_FFFF, 21.0), (0x76_7676, 4.62), (0x00_0000, 1.0)])
    func contrast(_ value: Int, ratio: Double) {
        #expect(abs(RGB(UInt32(value)).contrast(RGB(0)) - ratio) < 0.01)
    }

    @Test(
        "A colour must be readable",
        arguments: [
            ("#2f6b3c", true), ("#6f6f6f", true), ("#707070", false), ("#ffcc00", false), ("#000000", true),
        ])
    func readable(_ text: String, isReadable: Bool) throws {
        let color = try #require(AccentColor(text))
        #expect(color.isReadable == isReadable)
        #expect(color.darkened.isReadable && (!isReadable || color.darkened == color))
    }

    @Test(
        "Other forms are refused",
        arguments: ["", "red", "2f6b3c", "#fff", "#2f6b3g", "#+2f6b3", "#2f6b3c80", "#2f6b3c;"])
    func refused(_ text: String) {
        #expect(AccentColor(text) == nil)
    }

    /// Text of the colour on every background, and text on the colour.
    @Test func itIsReadableInLightAndDarkMode() throws {
        for value in stride(from: UInt32(0), through: 0xFF_FFFF, by: 0x01_0B07) {
            let color = try #require(AccentColor(RGB(value).text)).darkened
            let colors = color.style.matches(of: /#[0-9a-f]{6}/).compactMap { UInt32($0.output.dropFirst(), radix: 16) }
                .map { RGB($0) }
            try #require(colors.count == 6)
            for (mode, backgrounds) in [(0, AccentColor.light), (3, AccentColor.dark)] {
                for other in [colors[mode + 1], colors[mode + 2], backgrounds.ground, backgrounds.surface] {
                    #expect(colors[mode].contrast(other) >= AccentColor.minimumContrast, "\(color.text): \(other.text)")
                }
            }
        }
    }

    @Test func theBackgroundsAreThoseOfTheStyleSheet() throws {
        let css = String(decoding: try #require(EmbeddedFiles.content(of: "assets/bramley.css")), as: UTF8.self)
        let found = ["ground", "surface"].map { name in
            css.split(separator: "--\(name): ").dropFirst().prefix(2).map { String($0.prefix(7)) }
        }
        #expect(
            found == [
                [AccentColor.light.ground.text, AccentColor.dark.ground.text],
                [AccentColor.light.surface.text, AccentColor.dark.surface.text],
            ])
    }
}
