package enum ConfigurationTable {
    typealias Key = ConfigurationKey

    static let sections: [(title: String, keys: [Key])] = [
        ("The site", outerKeys), ("Listening", serverKeys + limitKeys + adminKeys),
        ("Apple", appleKeys), ("Signing in", loginKeys + forwardAuthKeys), ("Apple's button", buttonKeys),
        ("The pages", siteKeys + pagesKeys), ("Sessions", sessionKeys),
        ("The API and the operator's page", apiKeys + operatorKeys),
        ("Storage, keys, retention", storageKeys + retentionKeys),
        ("Applications, assertions and events", openIDKeys + assertionKeys + webhookKeys), ("Log", logKeys),
    ]

    package static let keys: [ConfigurationKey] = sections.flatMap(\.keys)

    /// Names the JSON Schema, for editors. Not a key: neither the environment nor a flag can set it.
    package static let schemaMember = "$schema"

    /// The keys by each of their three spellings.
    package static let byName = by(\.name)
    static let byEnvironmentName = by(\.environmentName)
    static let byFlagName = by(\.flagName)

    private static func by(_ spelling: (ConfigurationKey) -> String) -> [String: ConfigurationKey] {
        Dictionary(keys.map { (spelling($0), $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The names of groups: `server`, `server.limits`, `apple`, …
    package static let groups: Set<String> = {
        var groups: Set<String> = []
        for key in keys {
            let parts = key.components
            for count in 1..<max(parts.count, 1) { groups.insert(parts.prefix(count).joined(separator: ".")) }
        }
        return groups
    }()

    /// The documented key or name closest to a misspelt one; nil when none is close.
    package static func nearest(to name: String, among candidates: [String]) -> String? {
        let wanted = Array(name.lowercased().utf8)
        var best: (name: String, distance: Int)?
        for candidate in candidates {
            let distance = distance(wanted, Array(candidate.lowercased().utf8))
            if distance <= max(2, wanted.count / 4), distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        return best?.name
    }

    /// Levenshtein's distance in single-byte edits, for "did you mean". Names longer than 128 bytes are not compared.
    package static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        guard left.count <= 128, right.count <= 128 else { return .max }
        var row = Array(0...right.count)
        for (i, a) in left.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, b) in right.enumerated() {
                let substituted = diagonal + (a == b ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(substituted, row[j] + 1, row[j + 1] + 1)
            }
        }
        return row[right.count]
    }
}

/// Lists without commas: the compiler checks each expression separately.
@resultBuilder enum EntryList<Entry> {
    static func buildExpression(_ entry: Entry) -> [Entry] { [entry] }
    static func buildExpression(_ entries: [Entry]) -> [Entry] { entries }
    static func buildBlock(_ entries: [Entry]...) -> [Entry] { entries.flatMap { $0 } }
}

typealias KeyList = EntryList<ConfigurationKey>
