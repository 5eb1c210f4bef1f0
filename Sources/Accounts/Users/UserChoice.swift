import Coding
import Storage

/// One page of people, chosen by an index before anything is joined, from a limited number of its rows: of a join,
/// PostgreSQL expects one row and hashes both tables, 0.9 s a page with 200,000 people.
struct UserChoice {
    /// People scanned at once for conditions that the index lacks (on PostgreSQL 7 ms), and how often for one page.
    static let scanned = 1_000
    static let pieces = 2

    /// The rows of an index, and their order. `time` is the creation, or the last sign-in.
    private typealias Index = (rows: String, order: [String])

    private static let everyone: Index = (
        rows: "'' AS word, u.created_at AS time, u.id AS user FROM user u", order: ["u.created_at", "u.id"]
    )
    /// An address belongs to few people. The order keeps PostgreSQL from scanning everyone in it.
    private static let byAddress: Index = (rows: everyone.rows, order: ["u.created_at + 0", "u.id"])
    private static let byGroup: Index = (
        rows: "'' AS word, g.created_at AS time, g.user FROM user_group g", order: ["g.created_at", "g.user"]
    )
    private static let byWord: Index = (
        rows: "w.word, w.created_at AS time, w.user FROM user_word w", order: ["w.word", "w.created_at", "w.user"]
    )
    private static let signIn = "'' AS word, i.last_sign_in_issued_at AS time, i.user, i.id AS identity FROM "
    private static let bySignIn: Index = (
        rows: signIn + "apple_identity i", order: ["i.last_sign_in_issued_at", "i.user", "i.id"]
    )
    /// Few people, who are sorted.
    private static let signInsOfGroup: Index = (
        rows: signIn + "user_group g CROSS JOIN apple_identity i ON i.user = g.user", order: fewSignIns
    )
    private static let signInsOfState: Index = (
        rows: signIn + "user u CROSS JOIN apple_identity i ON i.user = u.id", order: fewSignIns
    )
    private static let fewSignIns = ["i.last_sign_in_issued_at + 0", "i.user", "i.id"]

    private let index: Index
    private let descends: Bool
    /// With `byWord`: the beginning of a word.
    private var word: String?
    /// Conditions on the index, including the cursor.
    private var indexed = Conditions()
    /// Conditions on the people it finds.
    private var others = Conditions()

    /// - Returns: nil when no one can match.
    init?(_ filter: UserFilter, after cursor: UserCursor?, on snapshot: Snapshot) throws {
        let words = filter.name.flatMap(SearchWords.query)
        if let words, words.isEmpty { return nil }
        // Nil once the index covers it.
        var (state, group) = (filter.state, filter.group)
        // Few people are not active.
        let isRareState = state.map { $0 != .active } ?? false
        descends = words == nil && filter.order != .oldest
        if let email = filter.email {
            index = Self.byAddress
            let folded = String(decoding: UserFilter.folded(email), as: UTF8.self)
            indexed.add("u.email IS NOT NULL AND lower(u.email) = ?", [folded])
        } else if let words {
            index = Self.byWord
            word = try Self.rarest(words, after: cursor, on: snapshot)
        } else if filter.order == .lastSignIn {
            if let wanted = state, isRareState, try Self.isSmall("user WHERE state = ?", [wanted], on: snapshot) {
                index = Self.signInsOfState
                indexed.add("u.state = ?", [wanted])
                state = nil
            } else if let wanted = group, try Self.isSmall("user_group WHERE name = ?", [wanted], on: snapshot) {
                index = Self.signInsOfGroup
                indexed.add("g.name = ?", [wanted])
                group = nil
            } else {
                index = Self.bySignIn
            }
            // A person with several identities is found by the last one that signed in.
            others.add(
                """
                NOT EXISTS (SELECT 1 FROM apple_identity j WHERE j.user = u.id
                AND (j.last_sign_in_issued_at, j.id) > (f.time, f.identity))
                """, [])
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

    /// Whether the rows are few enough to be sorted for each page; in more, an index by sign-in soon finds some.
    private static func isSmall(
        _ rows: String, _ arguments: StatementArguments, on snapshot: Snapshot
    ) throws -> Bool {
        try snapshot.count(
            "SELECT count(*) FROM (SELECT 1 AS one FROM \(rows) LIMIT \(scanned + 1)) AS matches", arguments) <= scanned
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
        let columns = index.order.prefix(word == nil ? 2 : 3).joined(separator: ", ")
        if word == nil {
            indexed.add("(\(columns)) \(descends ? "<" : ">") (?, ?)", [cursor.time, cursor.id])
        } else {
            indexed.add("(\(columns)) > (?, ?, ?)", [cursor.word ?? "", cursor.time, cursor.id])
        }
    }

    /// Sorts after all words that begin with this: the last character of Unicode is not part of a word.
    private static func end(of word: String) -> String { word + "\u{10FFFF}" }

    /// The most matches counted of a word.
    private static let counted = 500

    /// The word with the fewest matches, of which only some are counted; on later pages the same as on the first.
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
    private var order: String { ordered(word == nil ? ["f.time", "f.user"] : ["f.word", "f.time", "f.user"]) }

    private func ordered(_ columns: [String]) -> String {
        columns.map { descends ? $0 + " DESC" : $0 }.joined(separator: ", ")
    }

    private var found: String {
        """
        SELECT \(index.rows) \(indexed.clause)
        ORDER BY \(ordered(index.order)) LIMIT ?
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
            SELECT \(User.columns), u.word AS word, u.time AS time FROM (
                SELECT u.*, f.word, f.time FROM (\(found)) AS f CROSS JOIN user u ON u.id = f.user \(others.clause)
                ORDER BY \(order) LIMIT ?) AS u
            JOIN apple_identity i ON i.user = u.id AND i.id = (\(User.firstIdentity))
            ORDER BY \(ordered(["u.word", "u.time", "u.id"]))
            """, arguments)
        let items = try rows.prefix(limit).map { try User($0) }
        if rows.count > limit { return UserPage(items: items, next: try cursor(rows[limit - 1])) }
        guard !isExact else { return UserPage(items: items) }
        // Everyone scanned is on this page or on none: the next one begins after the last of them.
        arguments = indexed.arguments
        arguments += [scanned, scanned - 1]
        let last = try snapshot.firstRow(
            """
            SELECT f.word AS word, f.time AS time, f.user AS "u.id" FROM (\(found)) AS f
            ORDER BY \(order) LIMIT 1 OFFSET ?
            """, arguments)
        return UserPage(items: items, next: try last.map(cursor))
    }

    private func cursor(_ row: Row) throws -> UserCursor {
        let word: String = try row["word"]
        return UserCursor(time: try row["time"], id: try row["u.id"], word: word.isEmpty ? nil : word)
    }
}
