import Testing
import Web

@testable import Bramley

/// `site.logoFile` and `site.accentColor`: what is accepted, and what the operator reads otherwise.
struct BrandConfigurationTests {
    private let fixture = ConfigurationFixture()
    private let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"/>"

    private func logoProblems(_ text: String, mode: Int = 0o644, _ site: [String: Any] = [:]) throws -> [String] {
        let path = try fixture.write(text, to: "logo.svg", mode: mode)
        return try fixture.problems(["site": site.merging(["logoFile": path]) { $1 }]).map {
            "\($0.key): \($0.fault.replacing(path, with: "FILE"))"
        }
    }

    @Test func aLogoBesideTheConfigurationIsRead() throws {
        _ = try fixture.write(svg, to: "logo.svg", mode: 0o644)
        let site = try fixture.load(["site": ["logoFile": "logo.svg"]]).configuration.web.site
        #expect(site.logoFile == SiteLogo(Array(svg.utf8)) && site.logo == nil)
    }

    @Test func aWrongOrTooLargeLogoIsExplained() throws {
        #expect(try logoProblems(svg) == [])
        #expect(try logoProblems("GIF89a") == ["site.logoFile: \"FILE\" is neither an SVG nor a PNG picture."])
        #expect(try logoProblems(svg, mode: 0o666) == ["site.logoFile: \"FILE\" can be changed by other users."])
        #expect(
            try logoProblems(svg, ["logo": "/logo.svg"]) == ["site.logoFile: is given together with site.logo."])
        let padding = String(repeating: " ", count: SiteLogo.maximumBytes - svg.utf8.count)
        #expect(try logoProblems(svg + padding) == [])
        #expect(try logoProblems(svg + padding + " ").count == 1)
    }

    @Test func aPaleColourNamesADarkerOne() throws {
        let problem = try #require(try fixture.problems(["site": ["accentColor": "#ffcc00"]]).first)
        #expect(problem.key == "site.accentColor" && problem.fault.contains("1.3:1"))
        #expect(problem.remedy.contains("#876c00"))
        #expect(try fixture.problems(["site": ["accentColor": "#876c00"]]).isEmpty)
        #expect(try fixture.problems(["site": ["accentColor": "gold"]]).map(\.key) == ["site.accentColor"])
        let loaded = try fixture.load(["site": ["accentColor": "#B00020"]])
        #expect(CheckCommand.summary(of: loaded).contains { $0.contains("#b00020, in dark mode #d88090") })
    }
}
