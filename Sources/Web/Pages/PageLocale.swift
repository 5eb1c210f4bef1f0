import Coding

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
    var parameter: String? { isAskedFor ? "ui_locales=" + PercentEncoding.encodeComponent(tag) : nil }

    /// A link of ours that keeps the language.
    func link(_ path: String) -> String {
        guard let parameter else { return path }
        return path + (path.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + parameter
    }

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
    /// Those in `Public/strings`, in the order of the reference; the first is complete by definition.
    package static let builtIn = ["en", "de", "fr", "es", "ja", "ko", "zh-Hans", "ar"]

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

/// A BCP 47 language tag, parsed as far as choosing between translations needs.
struct LanguageTag: Hashable, Sendable {
    /// Lower case: `zh`.
    let language: String
    /// Lower case: `hans`. For Chinese it follows from the region if not written.
    let script: String?
    /// Lower case: `cn`, `419`.
    let region: String?

    /// - Parameter text: as sent, `_` for `-` allowed. Nil for an invalid tag; ignores what follows the region.
    init?(_ text: some StringProtocol) {
        guard text.utf8.count <= 35 else { return nil }
        let parts = text.lowercased().split(omittingEmptySubsequences: false) { $0 == "-" || $0 == "_" }
        guard parts.allSatisfy({ (1...8).contains($0.utf8.count) && $0.utf8.allSatisfy(Self.isAlphanumeric) }) else {
            return nil
        }
        guard let first = parts.first, (2...3).contains(first.utf8.count), first.utf8.allSatisfy(Self.isLetter) else {
            return nil
        }
        var script: String?
        var region: String?
        for part in parts.dropFirst() {
            // A single letter begins an extension, which does not concern the translation.
            if part.utf8.count == 1 { break }
            let isWord = part.utf8.allSatisfy(Self.isLetter)
            let isNumber = !part.utf8.contains(where: Self.isLetter)
            if part.utf8.count == 4, isWord, script == nil, region == nil {
                script = String(part)
            } else if region == nil, part.utf8.count == 2 && isWord || part.utf8.count == 3 && isNumber {
                region = String(part)
            }
        }
        language = first == "cmn" ? "zh" : String(first)
        self.region = region
        self.script = script ?? (language == "zh" ? Self.chineseScript(in: region) : nil)
    }

    /// Whether a reader of this language can read `other`: the same language, in no other script.
    func isRead(in other: LanguageTag) -> Bool {
        language == other.language && (script == nil || other.script == nil || script == other.script)
    }

    /// Chinese is written in one of two scripts, by region (CLDR, likely subtags).
    private static func chineseScript(in region: String?) -> String {
        ["tw", "hk", "mo"].contains(region) ? "hant" : "hans"
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) }
    private static func isAlphanumeric(_ byte: UInt8) -> Bool { isLetter(byte) || (0x30...0x39).contains(byte) }
}
