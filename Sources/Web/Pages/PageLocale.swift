/// The languages pages are written in, and which one a visitor gets.
enum PageLocale {
    /// Picks by `Accept-Language` (RFC 9110 §12.5.4): the offered language of the highest weight, an exact tag before
    /// one of the same primary language; the first of `offered` when nothing fits or the field is nonsense.
    static func choose(acceptLanguage: String?, offered: [String]) -> String {
        let fallback = offered.first ?? "en"
        guard offered.count > 1, let field = acceptLanguage, field.utf8.count <= 1024 else { return fallback }
        var best: (tag: String, weight: Int)?
        for (range, weight) in ranges(field) where weight > (best?.weight ?? 0) {
            if let tag = match(range, offered) { best = (tag, weight) }
        }
        return best?.tag ?? fallback
    }

    /// `dir` of the document.
    static func direction(of tag: String) -> String {
        ["ar", "fa", "he", "iw", "ur"].contains(primary(tag)) ? "rtl" : "ltr"
    }

    /// Apple's name of the language in `{locale}` of its script and pictures.
    static func appleLocale(of tag: String) -> String {
        let name = tag.replacing("-", with: "_")
        if let exact = appleLocales.first(where: { $0.lowercased() == name.lowercased() }) { return exact }
        switch primary(tag) {
        // Where Apple offers several, or writes the language differently.
        case "en": return "en_US"
        case "es": return "es_ES"
        case "fr": return "fr_FR"
        case "pt": return "pt_PT"
        case "he": return "iw_IL"
        case "nb", "nn": return "no_NO"
        case "zh":
            let isTraditional = name.lowercased().contains("hant")
            return isTraditional ? "zh_TW" : "zh_CN"
        case let language: return appleLocales.first { $0.hasPrefix(language + "_") } ?? "en_US"
        }
    }

    private static let appleLocales = [
        "ar_SA", "ca_ES", "cs_CZ", "da_DK", "de_DE", "el_GR", "en_GB", "en_US", "es_ES", "es_MX", "fi_FI", "fr_CA",
        "fr_FR", "hr_HR", "hu_HU", "id_ID", "it_IT", "iw_IL", "ja_JP", "ko_KR", "ms_MY", "nl_NL", "no_NO", "pl_PL",
        "pt_BR", "pt_PT", "ro_RO", "ru_RU", "sk_SK", "sv_SE", "th_TH", "tr_TR", "uk_UA", "vi_VI", "zh_CN", "zh_HK",
        "zh_TW",
    ]

    private static func primary(_ tag: String) -> String {
        String(tag.prefix { $0 != "-" && $0 != "_" }).lowercased()
    }

    private static func match(_ range: String, _ offered: [String]) -> String? {
        if range == "*" { return offered.first }
        return offered.first { $0.lowercased() == range } ?? offered.first { primary($0) == primary(range) }
    }

    /// Language ranges with their weights in thousandths; malformed ones weigh nothing.
    private static func ranges(_ field: String) -> [(String, Int)] {
        field.split(separator: ",").prefix(32).map { element in
            let parts = element.split(separator: ";", maxSplits: 1)
            let range = String((parts.first ?? "").filter { $0 != " " && $0 != "\t" }).lowercased()
            guard parts.count > 1 else { return (range, 1000) }
            let parameter = parts[1].filter { $0 != " " && $0 != "\t" }
            guard parameter.hasPrefix("q="), let weight = weight(parameter.dropFirst(2)) else { return (range, 0) }
            return (range, weight)
        }
    }

    /// RFC 9110 §12.4.2: `0`, `0.25`, `1`, `1.000`.
    private static func weight(_ text: Substring) -> Int? {
        let digits = Array(text.utf8)
        guard let first = digits.first, first == UInt8(ascii: "0") || first == UInt8(ascii: "1") else { return nil }
        var weight = Int(first - UInt8(ascii: "0")) * 1000
        guard digits.count > 1 else { return weight }
        guard digits[1] == UInt8(ascii: "."), digits.count <= 5 else { return nil }
        var unit = 100
        for digit in digits[2...] {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            weight += Int(digit - UInt8(ascii: "0")) * unit
            unit /= 10
        }
        return min(weight, 1000)
    }
}
