import Coding
import Crypto
import Synchronization

/// Every page of the server: templates parsed once, texts filled in once, one rendering per request.
package struct Pages: Sendable {
    /// One language's constant part of every page.
    struct Language: Sendable {
        let strings: Strings
        /// The values of every page: `t`, `page`, `site`, `assets`, `links`.
        let base: PageValue
        /// The same with links that pass on `ui_locales`.
        let askedBase: PageValue
        let login: LoginPage
    }

    let choice: LanguageChoice
    let assets: AssetLinks
    let inlineStyle: InlineStyle
    private let library: TemplateLibrary
    let languages: LanguageShelf

    /// - Throws: when a template or the strings of a configured language are missing or unreadable.
    package init(configuration: WebConfiguration) throws(PagesError) {
        let files = PageFiles(overrides: configuration.pageOverrides).branded(configuration.site)
        guard let first = configuration.locales.first else { throw .noLocale }
        choice = LanguageChoice(offered: configuration.locales)
        assets = try AssetLinks(files: files, configuration)
        inlineStyle = try InlineStyle(files: files)
        let library = try Self.parse(files)
        self.library = library

        // English is complete; a language that lacks a text uses the first one's, and that one English.
        let values = ["site": configuration.site.name, "host": configuration.publicURL.authority]
        let english = try Strings(locale: "en", files: files, fallback: nil, values: values)
        let fallback =
            first == "en" ? english : try Strings(locale: first, files: files, fallback: english, values: values)
        languages = try LanguageShelf(
            first: first, others: configuration.locales,
            // The operator's own files are loaded at start, so that their faults prevent it.
            atOnce: !configuration.pageOverrides.isEmpty
        ) { [assets, inlineStyle] (locale: String) throws(PagesError) in
            let strings =
                locale == first
                ? fallback : try Strings(locale: locale, files: files, fallback: fallback, values: values)
            let base = Self.base(
                PageLocale(locale), strings: strings, assets: assets, configuration: configuration
            ).merging(["assets": ["inline": .html(inlineStyle.text)]])
            let askedBase = base.merging(["links": Self.links(PageLocale(locale, isAskedFor: true), configuration)])
            let login = try LoginPage(
                locale: locale, base: base, askedBase: askedBase, strings: strings, library: library,
                configuration: configuration)
            return Language(strings: strings, base: base, askedBase: askedBase, login: login)
        }
    }

    /// The languages pages are in; the first is the default.
    var locales: [String] { choice.offered }

    func strings(_ locale: PageLocale) -> Strings { languages[locale.tag].strings }

    func base(_ locale: PageLocale) -> PageValue {
        let language = languages[locale.tag]
        return locale.isAskedFor ? language.askedBase : language.base
    }

    /// Renders one page, with these values added to the language's.
    func render(_ template: String, locale: PageLocale, _ values: PageValue) -> [UInt8] {
        library.render(base(locale).merging(values), withTemplate: template) ?? []
    }

    func tags(ofTemplate name: String) -> [Template.Tag] { library.templates[name]?.tags ?? [] }

    /// The login page, joined from parts rendered at start.
    func login(locale: PageLocale, _ content: LoginPage.Content) -> [UInt8] {
        languages[locale.tag].login.render(content, locale: locale)
    }

    private static func parse(_ files: PageFiles) throws(PagesError) -> TemplateLibrary {
        var library = TemplateLibrary()
        for name in files.templates {
            let path = "templates/\(name).mustache"
            let text = try files.text(path)
            do {
                library.templates[name] = try Template(text)
            } catch {
                throw .template(path, error.description)
            }
        }
        return library
    }

    private static func base(
        _ locale: PageLocale, strings: Strings, assets: AssetLinks, configuration: WebConfiguration
    ) -> PageValue {
        let site = configuration.site
        return [
            "t": strings.tree,
            "page": [
                "locale": .text(locale.tag), "direction": .text(PageLocale.direction(of: locale.tag)),
                "simulated": .flag(configuration.apple.isSimulatedByOverride),
            ],
            "site": [
                "name": .text(site.name), "initial": .text(site.name.prefix(1).uppercased()),
                "logo": .optional(assets.logo ?? site.logo), "privacyURL": .optional(site.privacyURL),
                "termsURL": .optional(site.termsURL),
                // Also for pages on another site's address.
                "supportURL": .optional(site.supportURL.map(configuration.publicURL.absoluteLink)),
                "homeURL": .optional(site.homeURL.map(configuration.publicURL.absoluteLink)),
                "hasLinks": .flag(site.privacyURL != nil || site.termsURL != nil || site.supportURL != nil),
            ],
            "assets": assets.values, "links": links(locale, configuration),
        ]
    }

    /// Links that have their own query, or are not for people, are unchanged.
    private static func links(_ locale: PageLocale, _ configuration: WebConfiguration) -> PageValue {
        let url = configuration.publicURL
        func page(_ path: String) -> PageValue { .text(locale.link(url.path(path))) }
        return [
            "login": page("/login"), "account": page("/account"), "logout": page("/logout"),
            "home": configuration.site.homeURL.map { .text($0) } ?? page("/"),
            "endSession": page("/account/sessions/revoke"), "endOthers": page("/account/sessions/revoke-all"),
            "endAccess": page("/account/applications/end"), "decide": page("/oidc/consent"), "device": page("/device"),
            "switch": page("/logout/switch"),
            "export": .text(url.path("/account/export")), "delete": page("/account/delete"),
            "apple": .text(url.path("/login/apple")), "attempt": .text(url.path("/login/attempt")),
            "callback": .text(url.path("/apple/callback")), "session": .text(url.path("/api/v1/session")),
            "password": .optional(configuration.login.passwordURL), "existing": page("/login/existing"),
        ]
    }
}

/// The style sheet inside a page that is shown where none of our addresses can be reached.
struct InlineStyle: Sendable {
    let text: String
    /// For `style-src`: standard base64 of its SHA-256.
    let hash: String

    init(files: PageFiles) throws(PagesError) {
        let path = "assets/bramley.css"
        // Browsers turn CR LF into LF before they compare the hash.
        text = try files.text(path).replacing("\r\n", with: "\n")
        guard !text.lowercased().contains("</style") else { throw .template(path, "it would end its own element") }
        hash = Base64.encode(SHA256.hash(utf8: text).bytes)
    }
}

/// Addresses of the assets, each with a version that changes with its content.
struct AssetLinks: Sendable {
    let values: PageValue
    /// The link to `site.logoFile`.
    let logo: String?
    /// Path below `/assets/` → content.
    let files: [String: [UInt8]]

    init(files: PageFiles, _ configuration: WebConfiguration) throws(PagesError) {
        var contents: [String: [UInt8]] = [:]
        for name in files.names(below: "assets") { contents[name] = try files.bytes("assets/\(name)") }
        func address(_ name: String) throws(PagesError) -> String {
            configuration.publicURL.path("/assets/\(name)?v=\(try files.version(of: "assets/\(name)"))")
        }
        func link(_ name: String) throws(PagesError) -> PageValue { .text(try address(name)) }
        logo = if let logo = configuration.site.logoFile { try address(logo.name) } else { nil }
        values = .object([
            "style": try link("bramley.css"), "icon": try link("icon.svg"), "login": try link("login.js"),
            "account": try link("account.js"), "repost": try link("repost.js"),
            "popup": try link("popup.js"), "operator": try link("operator.css"),
            "operatorScript": try link("operator.js"),
        ])
        self.files = contents
    }
}

/// The languages of the pages, each made on first use: making all of them took a fifth of the start.
final class LanguageShelf: Sendable {
    private let first: Pages.Language
    private let others: Set<String>
    let made: Mutex<[String: Pages.Language]>
    private let make: @Sendable (String) throws(PagesError) -> Pages.Language

    /// Makes `first`, or all of these (`atOnce`), now, and throws what `make` throws for them. `others` are available
    /// tags and may include `first`.
    init(
        first: String, others: [String], atOnce: Bool,
        make: @escaping @Sendable (String) throws(PagesError) -> Pages.Language
    ) throws(PagesError) {
        self.first = try make(first)
        self.others = Set(others)
        self.make = make
        var made = [first: self.first]
        if atOnce {
            for tag in others where made[tag] == nil { made[tag] = try make(tag) }
        }
        self.made = Mutex(made)
    }

    /// The first for a language that is not offered. The first reader waits a millisecond, as do concurrent ones.
    subscript(tag: String) -> Pages.Language {
        made.withLock { made in
            if let language = made[tag] { return language }
            guard others.contains(tag) else { return first }
            // Tests make every embedded language; if one fails after all, the first is better than none.
            let language = (try? make(tag)) ?? first
            made[tag] = language
            return language
        }
    }
}
