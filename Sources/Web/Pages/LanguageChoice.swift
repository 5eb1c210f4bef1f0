import Coding

/// Chooses the language of a page for a visitor.
///
/// Preferences are tried in order, `ui_locales` before `Accept-Language`. The first with a translation wins; one in
/// another script of the language (Traditional for Simplified Chinese) counts only when no preference has a better one.
struct LanguageChoice: Sendable {
    /// The languages of the pages; the first is the fallback.
    let offered: [String]
    private let tags: [LanguageTag?]

    /// The most that is read of one request's preferences.
    static let maximumBytes = 1024
    static let maximumPreferences = 32

    init(offered: [String]) {
        self.offered = offered
        tags = offered.map { LanguageTag($0) }
    }

    /// By tags separated by spaces (OpenID Connect Core §3.1.2.1), then RFC 9110 §12.5.4, where invalid values are
    /// ignored.
    func choose(uiLocales: String?, acceptLanguage: String?) -> PageLocale {
        let fallback = PageLocale(offered.first ?? "en")
        guard offered.count > 1 else { return fallback }
        let asked = uiLocales.map(preferences(uiLocales:)) ?? []
        let accepted = acceptLanguage.map(preferences(acceptLanguage:)) ?? []
        for isRough in [false, true] {
            if let tag = first(of: asked, isRough: isRough) { return PageLocale(tag, isAskedFor: true) }
            if let tag = first(of: accepted, isRough: isRough) { return PageLocale(tag) }
        }
        return fallback
    }

    /// The offered language with exactly this tag, as an attempt carries it.
    func offeredLocale(_ tag: String) -> String? { offered.first { $0.isExactly(tag) } }

    private enum Preference {
        case tag(LanguageTag)
        /// `*`: any that is not excluded.
        case any(refused: [LanguageTag])
    }

    private func first(of preferences: [Preference], isRough: Bool) -> String? {
        preferences.lazy.compactMap { match($0, isRough: isRough) }.first.map { offered[$0] }
    }

    private func match(_ preference: Preference, isRough: Bool) -> Int? {
        switch preference {
        case .any(let refused):
            return tags.firstIndex { tag in !refused.contains { $0.language == tag?.language } }
        case .tag(let wanted):
            if isRough { return tags.firstIndex { $0?.language == wanted.language } }
            let readable = tags.indices.filter { tags[$0].map(wanted.isRead(in:)) ?? false }
            // `en-GB` is closer to `en` than to `en-US`.
            return readable.first { tags[$0] == wanted } ?? readable.first { tags[$0]?.region == wanted.region }
                ?? readable.first { tags[$0]?.region == nil } ?? readable.first
        }
    }

    private func preferences(uiLocales text: String) -> [Preference] {
        guard text.utf8.count <= Self.maximumBytes else { return [] }
        return text.split(separator: " ").prefix(Self.maximumPreferences).compactMap { LanguageTag($0) }
            .map { .tag($0) }
    }

    private func preferences(acceptLanguage field: String) -> [Preference] {
        guard field.utf8.count <= Self.maximumBytes else { return [] }
        var wanted: [(range: String, weight: Int)] = []
        var refused: [LanguageTag] = []
        for element in field.split(separator: ",").prefix(Self.maximumPreferences) {
            guard let (range, weight) = Self.range(element) else { continue }
            if weight > 0 {
                wanted.append((range, weight))
            } else if let tag = LanguageTag(range) {
                refused.append(tag)
            }
        }
        // Equal weights keep their order: the sort must be stable, so the position decides.
        let sorted = wanted.enumerated().sorted { ($1.element.weight, $0.offset) < ($0.element.weight, $1.offset) }
        return sorted.compactMap { entry in
            if entry.element.range == "*" { return .any(refused: refused) }
            return LanguageTag(entry.element.range).map { .tag($0) }
        }
    }

    /// A language range and its weight in thousandths; nil for a malformed one.
    private static func range(_ element: Substring) -> (String, Int)? {
        let parts = element.split(separator: ";", maxSplits: 1)
        let range = (parts.first ?? "").filter { $0 != " " && $0 != "\t" }
        guard parts.count > 1 else { return (String(range), 1000) }
        let parameter = parts[1].filter { $0 != " " && $0 != "\t" }.lowercased()
        guard parameter.hasPrefix("q="), let weight = weight(parameter.dropFirst(2)) else { return nil }
        return (String(range), weight)
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
