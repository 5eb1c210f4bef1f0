import Coding
import Storage

// By which lists find people (`UserChoice`): the words of their names in user_word, their groups in user_group. user
// says of which name and groups these are, so that what an older version writes beside this one is found out.

extension PersonName {
    /// As the schema compares it with the name.
    var indexed: String { "\(given ?? "") \(family ?? "")" }
}

extension Transaction {
    /// Adds a user of whom the index knows nothing.
    func index(_ user: UserID, _ name: PersonName, createdAt: Timestamp) throws {
        for word in SearchWords.words(of: name).sorted() {
            try run("INSERT INTO user_word (word, created_at, user) VALUES (?, ?, ?)", [word, createdAt, user])
        }
    }

    func indexAgain(_ user: User) throws {
        try run("DELETE FROM user_word WHERE user = ?", [user.id])
        try run("DELETE FROM user_group WHERE user = ?", [user.id])
        try index(user.id, user.name, createdAt: user.createdAt)
        for group in user.groups {
            try run(
                "INSERT INTO user_group (name, created_at, user) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                [group, user.createdAt, user.id])
        }
    }
}

extension Database {
    /// Indexes people whom a version without these indexes has written, or an update found there.
    /// - Returns: how many there were.
    package func indexPeople() async throws(Failure) -> Int {
        try await inPieces { transaction, limit in
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

/// The words by which a person's name is found: in small letters, those of Latin scripts without accents, so that
/// "jurgen" finds "Jürgen". A search names beginnings of words, and all of them must be there.
package enum SearchWords {
    /// Words of one name that are looked at, and characters of one word.
    private static let most = 8
    private static let longest = 64

    /// The different words of a name.
    package static func words(of name: PersonName) -> Set<String> {
        Set(words(of: [name.given, name.family].compactMap(\.self).joined(separator: " ")))
    }

    /// What a search looks for; a word that another one begins with says nothing more, and is left out.
    /// - Returns: nil when the text names everybody, empty when it names nobody: it has no letters.
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
        // A space at the end closes the last word. By capitals, since "ß" is "SS" there.
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

    /// The letter of "LATIN SMALL LETTER U WITH DIAERESIS", the names of the Unicode Standard being fixed for ever.
    private static func folded(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        let beginning = "LATIN SMALL LETTER "
        guard (0xE0...0x24F).contains(scalar.value) || (0x1E00...0x1EFF).contains(scalar.value),
            let rest = scalar.properties.name?.dropFirst(beginning.count), rest.dropFirst().hasPrefix(" WITH "),
            let letter = rest.unicodeScalars.first
        else { return scalar }
        return letter.properties.lowercaseMapping.unicodeScalars.first ?? scalar
    }
}
