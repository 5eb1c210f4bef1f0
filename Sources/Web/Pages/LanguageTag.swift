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
