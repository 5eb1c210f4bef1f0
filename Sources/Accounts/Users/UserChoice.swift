import Coding
import Storage

/// One page of people, chosen by an index before anything is joined, from a limited number of its rows.
struct UserChoice {
    /// People scanned at once for what the index lacks (on PostgreSQL 7 ms), and how often for one page.
    static let scanned = 1_000
    static let pieces = 2

    /// The rows of an index, and their order.
    private typealias Index = (rows: String, order: String)

    private static let everyone: Index = (
        rows: "'' AS word, u.created_at, u.id AS user FROM user u", order: "u.created_at, u.id"
    )
    /// An address belongs to few people. The order keeps PostgreSQL from scanning everyone in it.
    private static let byAddress: Index = (rows: everyone.rows, order: "u.created_at + 0, u.id")
    private static let byGroup: Index = (
        rows: "'' AS word, g.created_at, g.user FROM user_group g", order: "g.created_at, g.user"
    )
    private static let byWord: Index = (
        rows: "w.word, w.created_at, w.user FROM user_word w", order: "w.word, w.created_at, w.user"
    )

    private let index: Index
    /// With `byWord`: the beginning of a word.
    private var word: String?
    /// On the index, including the cursor.
    private var indexed = Conditions()
    /// On the people it finds.
    private var others = Conditions()

    /// - Returns: nil when no one can match.
    init?(_ filter: UserFilter, after cursor: UserCursor?, on snapshot: Snapshot) throws {
        let words = filter.name.flatMap(SearchWords.query)
        if let words, words.isEmpty { return nil }
        // Nil once the index covers it.
        var (state, group) = (filter.state, filter.group)
        // Few people are in another state than active.
        let isRareState = state.map { $0 != .active } ?? false
        if let email = filter.email {
            index = Self.byAddress
            let folded = String(decoding: UserFilter.folded(email), as: UTF8.self)
            indexed.add("u.email IS NOT NULL AND lower(u.email) = ?", [folded])
        } else if let words {
            index = Self.byWord
            word = try Self.rarest(words, after: cursor, on: snapshot)
        } else if let wanted = group, !isRareState {
            index = Self.byGroup
            indexed.add("g.name = ?", [wanted])
            group = nil
        } else {
            index = Self.everyone
            if let wanted = state { indexed.add("u.state = ?", [wanted]) }
            state = nil
        }
        if let state { others.add("u.state = ?", [state]) }
        if let group {
            others.add(
                "EXISTS (SELECT 1 FROM user_group g WHERE g.name = ? AND g.created_at = u.created_at AND g.user = u.id)",
                [group])
        }
        for word in words ?? [] { add(word: word) }
        if let cursor { add(cursor) }
    }

    private mutating func add(word: String) {
        if word == self.word {
            indexed.add("w.word >= ? AND w.word < ?", [word, Self.end(of: word)])
            // A person with two such words is found by the first.
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
        if word == nil {
            indexed.add("(\(index.order)) > (?, ?)", [cursor.createdAt, cursor.id])
        } else {
            indexed.add("(\(index.order)) > (?, ?, ?)", [cursor.word ?? "", cursor.createdAt, cursor.id])
        }
    }

    /// After all words that begin with this: the last character of Unicode is not part of a word.
    private static func end(of word: String) -> String { word + "\u{10FFFF}" }

    /// The most matches counted of a word.
    private static let counted = 500

    /// The word with the fewest matches, as far as it matters; on later pages the same as on the first.
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

    /// The order of `f`.
    private var order: String { word == nil ? "f.created_at, f.user" : "f.word, f.created_at, f.user" }

    private var found: String {
        """
        SELECT \(index.rows) \(indexed.clause)
        ORDER BY \(index.order) LIMIT ?
        """
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
        guard !isExact else { return UserPage(items: items) }
        // Everyone scanned is on this page or on none: the next one begins after the last of them.
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
