import Coding
import Storage

/// One page of people. Those on it are chosen by an index before anything is joined to them, and however seldom two
/// properties meet, only so many are looked through: what it costs does not depend on how many people there are.
struct UserChoice {
    /// People looked through at once for what the index does not say (on PostgreSQL 7 ms), and how often for one page.
    static let scanned = 1_000
    static let pieces = 2

    /// Whom an index finds, in its order.
    private enum Way {
        case everybody
        /// Few: an address belongs to few people.
        case address
        case group
        /// By words that begin with this.
        case word(String)
    }

    private let way: Way
    /// Of the index, and of the position in it.
    private var indexed = Conditions()
    /// What has to be looked up of those it finds.
    private var others = Conditions()

    /// - Returns: nil when nobody can be meant.
    init?(_ filter: UserFilter, after cursor: UserCursor?, on snapshot: Snapshot) throws {
        let words = filter.name.flatMap(SearchWords.query)
        if let words, words.isEmpty { return nil }
        // Few people are in another state than active.
        let isRareState = filter.state.map { $0 != .active } ?? false
        if let email = filter.email {
            way = .address
            let folded = String(decoding: UserFilter.folded(email), as: UTF8.self)
            indexed.add("u.email IS NOT NULL AND lower(u.email) = ?", [folded])
        } else if let words {
            way = .word(try Self.rarest(words, after: cursor, on: snapshot))
        } else if filter.group != nil, !isRareState {
            way = .group
        } else {
            way = .everybody
        }
        if case .everybody = way {
            if let state = filter.state { indexed.add("u.state = ?", [state]) }
        } else if let state = filter.state {
            others.add("u.state = ?", [state])
        }
        if let group = filter.group { add(group: group) }
        for word in words ?? [] { add(word: word) }
        if let cursor { add(cursor) }
    }

    private mutating func add(group: String) {
        if case .group = way { return indexed.add("g.name = ?", [group]) }
        others.add(
            "EXISTS (SELECT 1 FROM user_group g WHERE g.name = ? AND g.created_at = u.created_at AND g.user = u.id)",
            [group])
    }

    private mutating func add(word: String) {
        if case .word(word) = way {
            indexed.add("w.word >= ? AND w.word < ?", [word, Self.end(of: word)])
            // Somebody of whom two words begin so is found by the first.
            others.add(
                "NOT EXISTS (SELECT 1 FROM user_word v WHERE v.user = u.id AND v.word >= ? AND v.word < f.word)", [word]
            )
        } else {
            others.add(
                "EXISTS (SELECT 1 FROM user_word v WHERE v.user = u.id AND v.word >= ? AND v.word < ?)",
                [word, Self.end(of: word)])
        }
    }

    private mutating func add(_ cursor: UserCursor) {
        let place: StatementArguments = [cursor.createdAt, cursor.id]
        switch way {
        case .everybody: indexed.add("(u.created_at, u.id) > (?, ?)", place)
        case .address: indexed.add("(u.created_at + 0, u.id) > (?, ?)", place)
        case .group: indexed.add("(g.created_at, g.user) > (?, ?)", place)
        case .word:
            indexed.add("(w.word, w.created_at, w.user) > (?, ?, ?)", [cursor.word ?? "", cursor.createdAt, cursor.id])
        }
    }

    // MARK: Words

    /// Behind all words that begin with this: the last character of Unicode is none of a word.
    private static func end(of word: String) -> String { word + "\u{10FFFF}" }

    /// Matches counted of each word.
    private static let counted = 500

    /// The word that the fewest people have, as far as it matters; on later pages the same as on the first.
    private static func rarest(_ words: [String], after cursor: UserCursor?, on snapshot: Snapshot) throws -> String {
        if let word = cursor?.word, let known = words.first(where: { word.utf8.starts(with: $0.utf8) }) { return known }
        var rarest: (word: String, count: Int)?
        for word in words {
            let count =
                words.count == 1
                ? 0
                : try snapshot.count(
                    """
                    SELECT count(*) FROM (SELECT 1 AS one FROM user_word WHERE word >= ? AND word < ? LIMIT \(counted)) AS matches
                    """, [word, end(of: word)])
            if rarest.map({ count < $0.count }) ?? true { rarest = (word, count) }
        }
        return rarest?.word ?? ""
    }

    // MARK: Reading

    /// The order of those found, `f`.
    private var order: String {
        if case .word = way { "f.word, f.created_at, f.user" } else { "f.created_at, f.user" }
    }

    /// The people whom an index finds, in its order.
    private var found: String {
        switch way {
        case .everybody:
            """
            SELECT '' AS word, u.created_at, u.id AS user FROM user u \(indexed.clause)
            ORDER BY u.created_at, u.id LIMIT ?
            """
        case .address:
            // PostgreSQL would otherwise look through everybody in this order.
            """
            SELECT '' AS word, u.created_at, u.id AS user FROM user u \(indexed.clause)
            ORDER BY u.created_at + 0, u.id LIMIT ?
            """
        case .group:
            """
            SELECT '' AS word, g.created_at, g.user FROM user_group g \(indexed.clause)
            ORDER BY g.created_at, g.user LIMIT ?
            """
        case .word:
            """
            SELECT w.word, w.created_at, w.user FROM user_word w \(indexed.clause)
            ORDER BY w.word, w.created_at, w.user LIMIT ?
            """
        }
    }

    func page(limit: Int, on snapshot: Snapshot) throws -> UserPage {
        let isExact = others.clause.isEmpty
        let scanned = isExact ? limit + 1 : max(Self.scanned, limit + 1)
        var arguments = indexed.arguments
        arguments += [scanned]
        arguments += others.arguments
        arguments += [limit + 1]
        let rows = try snapshot.rows(
            """
            SELECT \(User.columns), u.word AS word FROM (
                SELECT u.*, f.word FROM (\(found)) AS f CROSS JOIN user u ON u.id = f.user \(others.clause)
                ORDER BY \(order) LIMIT ?) AS u
            JOIN apple_identity i ON i.user = u.id AND i.id = (\(User.firstIdentity))
            ORDER BY u.word, u.created_at, u.id
            """, arguments)
        let items = try rows.prefix(limit).map { try User($0) }
        if rows.count > limit { return UserPage(items: items, next: try cursor(rows[limit - 1])) }
        guard !isExact else { return UserPage(items: items, next: nil) }
        // Everybody who was looked through is on this page or on none: the next one begins behind the last of them.
        arguments = indexed.arguments
        arguments += [scanned, scanned - 1]
        let last = try snapshot.firstRow(
            """
            SELECT f.word AS word, f.created_at AS "u.created_at", f.user AS "u.id" FROM (\(found)) AS f
            ORDER BY \(order) LIMIT 1 OFFSET ?
            """, arguments)
        return UserPage(items: items, next: try last.map(cursor))
    }

    private func cursor(_ row: Row) throws -> UserCursor {
        let word: String = try row["word"]
        return UserCursor(createdAt: try row["u.created_at"], id: try row["u.id"], word: word.isEmpty ? nil : word)
    }
}
