import Coding

/// The language of one page.
struct PageLocale: Hashable, Sendable {
    /// One of `pages.locales`.
    let tag: String
    /// Chosen by `ui_locales`: the page's links pass it on, since the browser asks for something else.
    let isAskedFor: Bool

    init(_ tag: String, isAskedFor: Bool = false) {
        self.tag = tag
        self.isAskedFor = isAskedFor
    }

    /// What a sign-in keeps of it: the tag, if it was chosen.
    var chosen: String? { isAskedFor ? tag : nil }

    /// `ui_locales=ar`, or nil when it is not needed.
    var parameter: String? {
        isAskedFor ? "ui_locales=" + PercentEncoding.encodeComponent(tag) : nil
    }

    /// A link of ours that keeps the language.
    func link(_ path: String) -> String {
        guard let parameter else { return path }
        return path + (path.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + parameter
    }

    /// The languages in `Public/strings`, in the order of the reference; the first is complete by definition.
    static let builtIn = ["en", "de", "fr", "es", "ja", "ko", "zh-Hans", "ar"]

    /// `dir` of the document.
    static func direction(of tag: String) -> String {
        guard let parsed = LanguageTag(tag) else { return "ltr" }
        if let script = parsed.script { return ["arab", "hebr", "syrc", "thaa"].contains(script) ? "rtl" : "ltr" }
        let languages = ["ar", "ckb", "dv", "fa", "he", "iw", "ps", "sd", "ug", "ur", "yi"]
        return languages.contains(parsed.language) ? "rtl" : "ltr"
    }

    /// Apple's name of the language in `{locale}` of its script and pictures.
    static func appleLocale(of tag: String) -> String {
        let name = tag.replacing("-", with: "_").lowercased()
        if let exact = appleLocales.first(where: { $0.lowercased() == name }) { return exact }
        let parsed = LanguageTag(tag)
        switch parsed?.language ?? "" {
        // Where Apple offers several, or writes the language differently.
        case "en": return "en_US"
        case "es": return "es_ES"
        case "fr": return "fr_FR"
        case "pt": return "pt_PT"
        case "he": return "iw_IL"
        case "nb", "nn": return "no_NO"
        case "zh": return parsed?.script == "hant" ? "zh_TW" : "zh_CN"
        case let language: return appleLocales.first { $0.hasPrefix(language + "_") } ?? "en_US"
        }
    }

    private static let appleLocales = [
        "ar_SA", "ca_ES", "cs_CZ", "da_DK", "de_DE", "el_GR", "en_GB", "en_US", "es_ES", "es_MX", "fi_FI", "fr_CA",
        "fr_FR", "hr_HR", "hu_HU", "id_ID", "it_IT", "iw_IL", "ja_JP", "ko_KR", "ms_MY", "nl_NL", "no_NO", "pl_PL",
        "pt_BR", "pt_PT", "ro_RO", "ru_RU", "sk_SK", "sv_SE", "th_TH", "tr_TR", "uk_UA", "vi_VI", "zh_CN", "zh_HK",
        "zh_TW",
    ]
}

/// The available languages, for validating `pages.locales`.
package enum PageLanguages {
    package static let builtIn = PageLocale.builtIn

    /// Whether `tag` has the form of a strings file's name: `nl`, `pt-BR`, `sr-Latn`, `es-419`.
    package static func isCanonical(_ tag: String) -> Bool {
        guard let parsed = LanguageTag(tag) else { return false }
        var parts = [parsed.language]
        // An inferred script is not in the text, so it is not compared.
        if let script = parsed.script, tag.utf8.count > 4, tag.lowercased().contains("-\(script)") {
            parts.append(script.prefix(1).uppercased() + script.dropFirst())
        }
        if let region = parsed.region { parts.append(region.uppercased()) }
        return parts.joined(separator: "-").isExactly(tag)
    }
}
