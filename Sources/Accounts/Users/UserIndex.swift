import Coding
import Storage

// The indexes of `UserChoice`: the words of names in user_word, groups in user_group. user records which name and groups
// were indexed, so that writes of an older version at the same time are detected.

extension PersonName {
    /// As compared in the schema.
    var indexed: String { "\(given ?? "") \(family ?? "")" }
}

extension Transaction {
    /// Adds the words and groups of a user who is not indexed.
    func index(_ user: User) throws {
        for word in SearchWords.words(of: user.name).sorted() {
            try run(
                "INSERT INTO user_word (word, created_at, user) VALUES (?, ?, ?)", [word, user.createdAt, user.id])
        }
        for group in user.memberships {
            try run(
                "INSERT INTO user_group (name, created_at, user) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                [group, user.createdAt, user.id])
        }
    }

    func indexAgain(_ user: User) throws {
        try run("DELETE FROM user_word WHERE user = ?", [user.id])
        try run("DELETE FROM user_group WHERE user = ?", [user.id])
        try index(user)
    }
}

extension Database {
    /// Indexes people whom a version without these indexes has written, and returns how many. What `progress` throws
    /// after a transaction ends the work.
    package func indexPeople(progress: (Int) throws(Failure) -> Void = { _ in }) async throws(Failure) -> Int {
        try await inPieces(progress: progress) { transaction, limit in
            let users: [UserID] = try transaction.rows(
                "SELECT id FROM user u WHERE \(Schema.isUnindexed) LIMIT ?", [limit]
            ).map { try $0["id"] }
            for id in users {
                guard let user = try transaction.user(id) else { continue }
                try transaction.indexAgain(user)
                try transaction.run(
                    "UPDATE user SET indexed_name = ?, indexed_groups = ? WHERE id = ?",
                    [user.name.indexed, TextList(user.groups), user.id])
            }
            return users.count
        }
    }
}

/// The words by which a name is found: lower case, Latin letters without accents. A search matches their beginnings.
package enum SearchWords {
    /// The most words of a name, and characters of a word.
    private static let most = 8
    private static let longest = 64

    /// The different words of a name.
    package static func words(of name: PersonName) -> Set<String> {
        Set(words(of: [name.given, name.family].compactMap(\.self).joined(separator: " ")))
    }

    /// The words of a search that no other begins with. Nil for blank text (matches all), none without letters.
    package static func query(_ text: String) -> [String]? {
        guard text.contains(where: { !$0.isWhitespace }) else { return nil }
        let words = Set(words(of: text)).sorted()
        return words.filter { word in !words.contains { $0 != word && $0.hasPrefix(word) } }
    }

    /// Whether a name has words that begin with each of these.
    package static func finds(_ query: [String], in name: PersonName) -> Bool {
        let words = words(of: name)
        return !query.isEmpty && query.allSatisfy { wanted in words.contains { $0.hasPrefix(wanted) } }
    }

    private static func words(of text: String) -> [String] {
        var words: [String] = []
        var word = String.UnicodeScalarView()
        // A space at the end closes the last word. Through upper case, where "ß" is "SS".
        for scalar in (text.uppercased().lowercased() + " ").unicodeScalars {
            guard !isAccent(scalar) else { continue }
            if isOfWord(scalar) {
                if word.count < longest { word.append(folded(scalar)) }
            } else if !word.isEmpty {
                words.append(String(word))
                word = String.UnicodeScalarView()
            }
        }
        return Array(words.prefix(most))
    }

    private static func isOfWord(_ scalar: Unicode.Scalar) -> Bool {
        let properties = scalar.properties
        guard !properties.isAlphabetic, properties.numericType == nil else { return true }
        return [.nonspacingMark, .spacingMark].contains(properties.generalCategory)
    }

    /// Combining Diacritical Marks, which follow their letter.
    private static func isAccent(_ scalar: Unicode.Scalar) -> Bool { (0x300...0x36F).contains(scalar.value) }

    /// The letter of "LATIN SMALL LETTER U WITH DIAERESIS": the names of the Unicode Standard never change.
    private static func folded(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        let beginning = "LATIN SMALL LETTER "
        guard (0xE0...0x24F).contains(scalar.value) || (0x1E00...0x1EFF).contains(scalar.value),
            let rest = scalar.properties.name?.dropFirst(beginning.count), rest.dropFirst().hasPrefix(" WITH "),
            let letter = rest.unicodeScalars.first
        else { return scalar }
        return letter.properties.lowercaseMapping.unicodeScalars.first ?? scalar
    }
}
