import Public
import Synchronization
import Testing

@testable import Accounts
@testable import Web

/// Languages that are made when somebody asks for them are the same as those made at the start.
@Suite struct LanguageShelfTests {
    private static let locales = PageLanguages.builtIn

    private func shelf(atOnce: Bool) throws -> (pages: Pages, languages: LanguageShelf) {
        // An override that changes nothing has all of them made at once.
        let css = try #require(EmbeddedFiles.content(of: "assets/bramley.css"))
        let overrides = atOnce ? ["assets/bramley.css": String(decoding: css, as: UTF8.self)] : [:]
        let pages = try Pages(configuration: try PageCheckTests.configuration(Self.locales, overrides))
        return (pages, pages.languages)
    }

    @Test func onlyTheFirstIsLoadedAtTheStart() throws {
        let (_, languages) = try shelf(atOnce: false)
        #expect(languages.made.withLock { $0.count } == 1)
        #expect(languages["ja"].strings["login.title"] != languages["en"].strings["login.title"])
        #expect(languages.made.withLock { $0.count } == 2)
        #expect(languages["tlh"].strings["login.title"] == languages["en"].strings["login.title"])
        #expect(languages.made.withLock { $0.count } == 2)
        #expect(try shelf(atOnce: true).languages.made.withLock { $0.count } == Self.locales.count)
    }

    @Test("each language is the same as when all are loaded at once", arguments: locales)
    func same(tag: String) throws {
        let late = try shelf(atOnce: false).languages[tag]
        let early = try shelf(atOnce: true).languages[tag]
        #expect(late.strings.keys == early.strings.keys)
        for key in early.strings.keys { #expect(late.strings[key] == early.strings[key], "\(key)") }
        let locale = PageLocale(tag)
        let (calm, hasty) = (try shelf(atOnce: false).pages, try shelf(atOnce: true).pages)
        let page = MessagePage(page: "deleted", late.strings, [])
        let html = page.render(calm, locale: locale)
        #expect(html == page.render(hasty, locale: locale) && html.count > 500)
    }

    @Test func concurrentReadersGetTheSame() async throws {
        let (_, languages) = try shelf(atOnce: false)
        let titles = await withTaskGroup(of: String.self) { group in
            for number in 0..<200 {
                let tag = Self.locales[number % Self.locales.count]
                group.addTask { tag + languages[tag].strings["login.title"] }
            }
            return await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(titles.count == Self.locales.count)
        #expect(!titles.contains { $0.hasSuffix("login.title") })
        #expect(languages.made.withLock { $0.count } == Self.locales.count)
    }

    @Test func aFaultOfTheOperatorsEndsTheStart() throws {
        let configuration = try PageCheckTests.configuration(Self.locales, ["strings/ja.json": "{"])
        #expect(throws: PagesError.self) { try Pages(configuration: configuration) }
    }
}
