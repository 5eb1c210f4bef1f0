import HTTP
import HTTPTypes
import Public
import Testing
import Web

@Suite struct PageOverrideTests {
    private static func problems(_ path: String, _ text: String) -> [String] {
        PageOverrides.problems(in: [path: Array(text.utf8)]).map { "\($0.path) \($0.fault)" }
    }

    @Test(
        "An unusable file is reported in one sentence",
        arguments: [
            (
                "templates/login.mustache", "{{#open}}",
                "cannot be read: line 1, column 1: the section \"open\" does not end."
            ),
            ("templates/login.mustache", "\n{{#a}}{{/b}}", "cannot be read: line 2, column "),
            ("templates/login.mustache", "{{name", "cannot be read: line 1, column "),
            (
                "templates/login.mustache", "{{=<% %>=}}",
                "cannot be read: line 1, column 1: delimiters cannot be changed; keep {{ and }}."
            ),
            ("templates/login.mustache", "a\n{{>nobody}}", "includes \"nobody\" in line 2, which does not exist."),
            ("templates/login.mustache", "{{>login}}", "includes itself"),
            ("templates/layout.mustache", "{{>notice}}{{<login}}{{/login}}", "includes itself"),
            ("strings/de.json", "{", "cannot be read: line 1, column 2: the text ends too early."),
            ("strings/de.json", "[]", "cannot be read: the file is neither text nor an object."),
            (
                "strings/de.json", #"{"login":{"title":1}}"#,
                "cannot be read: login.title is neither text nor an object."
            ),
            (
                "strings/de.json", #"{"login":{"title":"a","title":"b"}}"#,
                "cannot be read: line 1, column 23: duplicate member"
            ),
            ("strings/de.json", #"{"login":{"titel":"a"}}"#, "has the text \"login.titel\", which no page shows."),
            ("strings/de.json", #"{"login":"a"}"#, "has the text \"login\", which no page shows."),
            ("strings/nl.json", #"{"login":{"heading":"Hallo"}}"#, "lacks {site} in \"login.heading\"."),
            (
                "strings/nl.json", #"{"login":{"title":"{sit} in"}}"#,
                "names {sit} in \"login.title\", which has no such value."
            ),
        ])
    func said(_ path: String, text: String, fault: String) {
        let found = Self.problems(path, text)
        #expect(found.contains { $0.hasPrefix("\(path) \(fault)") }, "\(found)")
        #expect(found.allSatisfy { !$0.contains("\n") })
    }

    @Test func invalidUTF8IsReported() {
        #expect(PageOverrides.problems(in: ["assets/bramley.css": [0xFF]]).map(\.fault) == ["is not UTF-8."])
    }

    @Test(
        "Names",
        arguments: [
            ("templates/login.mustache", true), ("assets/icon.svg", true), ("strings/nl.json", true),
            ("strings/pt-BR.json", true), ("strings/sr-Latn.json", true), ("strings/es-419.json", true),
            ("strings/NL.json", false), ("strings/pt-br.json", false), ("strings/dutch.json", false),
            ("strings/nl.txt", false), ("strings/../en.json", false), ("strings/.json", false),
            ("strings/n.json", false),
            ("templates/logn.mustache", false), ("assets/../strings/en.json", false), ("assets/logo.png", false),
            ("index.html", false), ("", false), ("templates/", false), ("templates/login.mustache/x", false),
        ])
    func names(_ path: String, isGood: Bool) {
        #expect((PageOverrides.fault(inPath: path) == nil) == isGood)
    }

    @Test func stringsReplaceTextByText() async throws {
        let site = try Site(adjust: {
            $0.locales = ["de", "nl", "en"]
            $0.pageOverrides["strings/de.json"] = Array(#"{"login":{"lead":"Nur für Mitglieder."}}"#.utf8)
            $0.pageOverrides["strings/nl.json"] = Array(#"{"login":{"heading":"Inloggen bij {site}"}}"#.utf8)
        })
        let german = await site.get("/login", [.acceptLanguage: "de"]).text
        #expect(german.contains("Nur für Mitglieder."))
        #expect(german.contains("Bei Example Orchard anmelden"), "what the file leaves out is the built-in German")
        let dutch = await site.get("/login", [.acceptLanguage: "nl"]).text
        #expect(dutch.contains("lang=\"nl\""))
        #expect(dutch.contains("/nl_NL/appleid.auth.js"))
        #expect(dutch.contains("Inloggen bij Example Orchard"))
        #expect(dutch.contains("Nur für Mitglieder."), "what a language lacks comes from the first one")
        #expect(await site.get("/login", [.acceptLanguage: "en"]).text.contains("Use your Apple Account."))
    }

    @Test func emptyTextOmitsTheLine() throws {
        #expect(Self.problems("strings/en.json", #"{"login":{"lead":"","heading":""}}"#) == [])
    }

    @Test func textsAreTextWhoeverWritesThem() async throws {
        let site = try Site(adjust: {
            $0.pageOverrides["strings/en.json"] = Array(#"{"login":{"lead":"<script>alert(1)</script>"}}"#.utf8)
        })
        let page = await site.get("/login").text
        #expect(page.contains("&lt;script&gt;alert(1)"))
        #expect(!page.contains("<script>alert"))
    }

    @Test func templateMayWriteThreeBracesSafely() async throws {
        let site = try Site(
            name: "<b>",
            adjust: {
                $0.pageOverrides["templates/message.mustache"] = Array(
                    "{{% CONTENT_TYPE:TEXT}}<h1>{{{site.name}}}{{&site.name}}</h1>".utf8)
            })
        #expect(await site.get("/nothing").text == "<h1>&lt;b&gt;&lt;b&gt;</h1>")
    }
}
