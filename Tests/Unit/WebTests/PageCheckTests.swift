import Foundation
import HTTPTypes
import Public
import Testing
import Web

@testable import Accounts

@Suite struct PageCheckTests {
    static func configuration(
        _ locales: [String] = PageLanguages.builtIn, _ overrides: [String: String] = [:]
    ) throws -> WebConfiguration {
        try Site(adjust: {
            $0.locales = locales
            $0.site.logo = "https://example.com/logo.png"
            $0.site.termsURL = "/terms"
            $0.login.passwordURL = "/password"
            $0.apple.scopes = ["name", "email"]
        }).configuration.with { $0.pageOverrides = overrides.mapValues { Array($0.utf8) } }
    }

    private static func template(_ name: String) throws -> String {
        String(decoding: try #require(EmbeddedFiles.content(of: "templates/\(name).mustache")), as: UTF8.self)
    }

    @Test func everyPageIsGoodInEveryLanguage() throws {
        #expect(try Self.configuration().pageProblems() == [])
        #expect(PageOverrides.problems(in: EmbeddedFiles.all) == [])
    }

    /// A page that is new in the folder and not in `PageSamples` fails here; so does a text of an error.
    @Test func noPageIsForgotten() throws {
        let renderings = try Self.configuration(["en", "ar"]).pageRenderings()
        let templates = EmbeddedFiles.all.keys.filter { $0.hasPrefix("templates/") }.map {
            String($0.dropFirst(10).dropLast(9))
        }
        // The layout is part of every page, the notice of the login page.
        #expect(
            Set(renderings.map(\.template)).union(["layout", "notice"] + WebConfiguration.templateParts.keys)
                == Set(templates))
        let english = try StringsTests.texts("en")
        for key in english.keys where key.hasPrefix("errors.") || key.hasPrefix("pages.") {
            let name = key.split(separator: ".").prefix(2).joined(separator: ".")
            #expect(renderings.contains { $0.name == "message (\(name))" }, "\(key)")
        }
        let login = renderings.filter { $0.template == "login" && $0.locale == "en" }
        for word in ["You came straight back", "Afterwards you go back to", "already signed in as"] {
            #expect(login.contains { $0.html.contains(word) }, "no sample shows the notice: \(word)")
        }
        #expect(renderings.contains { $0.locale == "ar" && $0.html.contains("dir=\"rtl\"") })
        #expect(renderings.allSatisfy { $0.html.contains("<h1") && $0.html.hasSuffix("</html>\n") })
    }

    @Test("No page has a list without items, such as that of a device, which has no address")
    func emptyLists() throws {
        for rendering in try Self.configuration(["en"]).pageRenderings() {
            let found = rendering.html.firstMatch(of: /<(ul|ol|dl|table|tbody)(?:\s[^>]*)?>\s*<\/\1>/)
            #expect(found == nil, "\(rendering.name)")
        }
    }

    @Test(
        "Each mistake in a template is reported",
        arguments: [
            ("logout", "{{t.logout.lead}}", "shows {name}"),
            ("logout", "{{user.nmae}}", "names \"user.nmae\" in line 1"),
            ("message", "\n{{fields}}", "names \"fields\" in line 2"),
            ("login", "<script>x()</script>", "has a script that browsers refuse"),
            ("logout", "<p onclick=\"x()\">", "has onclick in <p>, which browsers refuse"),
            ("login", "<img src=x\nONERROR = x() >", "has onerror in <img>"),
            ("logout", "<a href=' JavaScript:x()'>", "has a javascript: address in <a>"),
            ("logout", "<form><button formaction=javascript:x()>", "has a javascript: address in <button>"),
            ("logout", "<p style=\"color:red\">", "has a style attribute in <p>"),
            ("message", "<script nonce=\"{{page.nonce}}\">x()</script>", "names \"page.nonce\""),
        ])
    func reportsMistakes(_ template: String, insertion: String, fault: String) throws {
        let text = try Self.template(template).replacing(
            template == "message" || template == "logout" || template == "login" ? "{{$content}}" : "",
            with: "{{$content}}" + insertion)
        let lines = insertion.hasPrefix("\n") ? 1 : 0
        let line =
            try #require(
                text.split(separator: "\n", omittingEmptySubsequences: false).firstIndex {
                    $0.contains("{{$content}}")
                }) + 1
        let found = try Self.configuration(["en"], ["templates/\(template).mustache": text]).pageProblems()
        let expected = fault.replacing("line \(lines + 1)", with: "line \(line + lines)")
        #expect(
            found.contains { $0.path == "templates/\(template).mustache" && $0.fault.contains(expected) }, "\(found)")
    }

    @Test(
        "Markup that browsers accept is not reported",
        arguments: [
            ("login", "<p style=\"color:red\">"), ("logout", "<p data-onclick=\"x\" title=\"<p onclick=x style=y>\">"),
            ("logout", "<!-- <p onclick=x> -->"), ("logout", "<p>onclick=x style=y javascript:x</p>"),
            ("logout", "<a href=\"/?a=javascript:x\">x</a>"), ("logout", "1 < 2 onclick=x"), ("logout", "<p on>"),
        ])
    func acceptsBrowserMarkup(_ template: String, insertion: String) throws {
        let text = try Self.template(template).replacing("{{$content}}", with: "{{$content}}" + insertion)
        let path = "templates/\(template).mustache"
        #expect(try Self.configuration(["en"], [path: text]).pageProblems() == [])
    }

    @Test func oneBrokenFileDoesNotHideAnother() throws {
        let found = try Self.configuration(
            ["en"],
            [
                "templates/login.mustache": "{{#user}}", "templates/account.mustache": "{{/user}}",
                "templates/logout.mustache": "{{<layout}}{{$content}}{{user.nmae}}{{/content}}{{/layout}}",
                "assets/bramley.css": "</style>", "strings/en.json": "{",
            ]
        ).pageProblems()
        for word in ["login.mustache", "account.mustache", "bramley.css", "en.json", "user.nmae", "has no heading"] {
            #expect(found.contains { $0.fault.contains(word) }, "\(word): \(found)")
        }
    }

    @Test func loginPageWithoutAButtonIsReported() throws {
        let text = "{{<layout}}{{$content}}<h1>{{t.login.heading}}</h1>{{/content}}{{/layout}}"
        let found = try Self.configuration(["en"], ["templates/login.mustache": text]).pageProblems()
        #expect(found.map(\.fault) == ["makes a page that has no way to sign in: login (signed out), in en."])
    }

    /// Every text replaced by `⟦…⟧`: what is left of letters outside of them was written into a template or into Swift.
    @Test func noTemplateOrSourceContainsEnglish() async throws {
        let english = try StringsTests.texts("en")
        func pseudo(_ value: Any) -> Any {
            if let text = value as? String {
                let names = text.matches(of: /\{[A-Za-z]+\}/).map { String($0.0) }.joined(separator: " ")
                return text.isEmpty ? "" : "\u{27E6}\(names)\u{27E7}"
            }
            return (value as? [String: Any] ?? [:]).mapValues(pseudo)
        }
        let bytes = try #require(EmbeddedFiles.content(of: "strings/en.json"))
        let object = try JSONSerialization.jsonObject(with: Data(bytes))
        let text = String(decoding: try JSONSerialization.data(withJSONObject: pseudo(object)), as: UTF8.self)
        let site = try Site(
            name: "¤",
            adjust: {
                $0.pageOverrides = ["strings/en.json": Array(text.utf8)]
                $0.locales = ["en"]
            })
        var pages = try site.configuration.pageRenderings().map { ($0.name, $0.html) }
        site.signIn(PersonName(given: "¤", family: nil), email: nil)
        for target in [
            "/login", "/logout", "/account", "/nothing", "/login?return_to=//x", "/login?return_to=1&return_to=2",
        ] {
            pages.append((target, await site.get(target, cookie: site.cookie).text))
        }
        pages.append(("DELETE", await site.send(.delete, "/login").text))
        #expect(pages.count > 40)
        #expect(english.count > 100)
        for (name, html) in pages {
            let words = Self.visible(html).matches(of: /[A-Za-z]{2,}/).map { String($0.0) }
            #expect(Set(words).subtracting(Self.data) == [], "\(name) says something on its own")
        }
    }

    /// What samples and requests bring along: names, addresses, browsers, and the zone of a time without script.
    private static let data: Set<String> = [
        "Ada", "Byron", "ada", "example", "com", "Wolfeschlegelsteinhausen", "Bergerdorff", "von", "und", "zu",
        "Hohenzollern", "long", "label", "privaterelay", "appleid", "AB", "WB", "BO", "Bobby", "Neil", "nimda",
        "Safari", "Mac", "UTC", "Grafana", "Notes", "grafana", "Pocket", "Read", "your", "notes", "WDJB", "MJHT",
        "curl", "XXXX",
        "https", "rather", "name", "of", "an", "application", "db", "abc", "def", "login", "usr", "CD", "BF", "DE",
        String(repeating: "Wolfeschlegelsteinhausen", count: 3),
        String(repeating: "Wolfeschlegelsteinhausen", count: 4), String(repeating: "l", count: 64),
    ]

    /// Text between tags and in the attributes people read or hear, without what the strings gave.
    private static func visible(_ html: String) -> String {
        let attributes = html.matches(
            of:
                /(?:alt|title|aria-label|placeholder|data-(?:opening|opened|closed|cancelled|failed|finishing))="([^"]*)"/
        ).map {
            String($0.1)
        }
        let text = html.replacing(/<style[\s\S]*?<\/style>|<code>[\s\S]*?<\/code>|<[^>]*>/, with: " ")
        return ([text] + attributes).joined(separator: " ").replacing(/⟦[^⟧]*⟧/, with: " ")
            .replacing(/&[a-z#0-9]+;/, with: " ")
    }

    @Test func scriptsContainNoTexts() throws {
        for (path, bytes) in EmbeddedFiles.all where path.hasSuffix(".js") {
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(
                text.matches(of: /(textContent|innerText|innerHTML|title|ariaLabel)\s*=\s*["'`]\w/).isEmpty, "\(path)")
            #expect(text.matches(of: /\b(alert|confirm|prompt)\(/).isEmpty, "\(path)")
        }
    }

    /// The names in the comment at the beginning of a template, and in those that it refers to.
    private static func listed(_ name: String) throws -> Set<String> {
        let comment = try template(name).split(separator: "}}", maxSplits: 1)[0]
        let own = comment.matches(of: /(?m)^  ([A-Za-z., ]+):\s/).flatMap {
            $0.1.split(separator: ", ").map(String.init)
        }
        return try comment.matches(of: /As in (\w+)\.mustache(?:: (\w+\.),)?/).reduce(into: Set(own)) { names, match in
            names.formUnion(try listed(String(match.1)).filter { $0.hasPrefix(match.2 ?? "") })
        }
    }

    @Test("The comment of each template lists what the template is given")
    func commentsListWhatTemplatesAreGiven() throws {
        let configuration = try Self.configuration(["en"])
        func given(_ template: String) throws -> Set<String> {
            // A section that holds others needs no line of its own, nor do the texts.
            let names = try configuration.variables(ofTemplate: template).filter {
                !$0.hasPrefix("t.") && $0 != "t"
            }
            return names.filter { name in !names.contains { $0.hasPrefix(name + ".") } }
        }
        let everywhere = try given("layout")
        #expect(try Self.listed("layout") == everywhere)
        for name in EmbeddedFiles.all.keys.filter({ $0.hasPrefix("templates/") }).map({ $0.dropFirst(10).dropLast(9) })
        where name != "layout" && WebConfiguration.templateParts[String(name)] == nil {
            let own = try given(String(name)).subtracting(everywhere)
            #expect(try Self.listed(String(name)).symmetricDifference(own).sorted() == [], "\(name)")
        }
    }
}

extension WebConfiguration {
    func with(_ change: (inout WebConfiguration) -> Void) -> WebConfiguration {
        var copy = self
        change(&copy)
        return copy
    }
}
