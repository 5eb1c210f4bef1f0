/// A statement as PostgreSQL prepares it: the text that SQLite runs, respelled where the two differ.
///
/// - `?` and `?3` become `$1` and `$3`.
/// - A bare `user` is quoted: without quotation marks it is the name of the database role, and no error says so.
/// - `group_concat` is `string_agg`.
/// - `INDEXED BY`, `NOT INDEXED` and the `CROSS` of a join, which tell SQLite the plan that was measured, are left out.
enum PostgresStatement {
    static func text(_ sql: String) -> String {
        var reader = PostgresTextReader(sql)
        var text = ""
        var count = 0
        while let token = reader.next() {
            switch token {
            case "?":
                count += 1
                text += "$\(count)"
            case _ where token.hasPrefix("?"):
                text += "$" + token.dropFirst()
            case _ where reader.isReserved(token):
                text += "\"\(token)\""
            case "CROSS":
                _ = reader.skip("JOIN")
                text += "JOIN"
            case "group_concat": text += "string_agg"
            case "INDEXED":
                // NOT was written already.
                if text.hasSuffix("NOT ") {
                    text.removeLast(4)
                } else {
                    reader.skipWords(2)
                }
            default:
                text += token
            }
        }
        return text
    }
}

/// Reads SQL in pieces: words, parameters and whole literals, quoted names and comments; each other character alone.
struct PostgresTextReader {
    private var rest: Substring
    /// The last piece but one was a dot: `s.user`.
    private(set) var isQualified = false
    private(set) var lastSkipped: Substring = ""
    private var previous: Substring = ""

    init(_ sql: String) {
        rest = sql[...]
    }

    mutating func next() -> Substring? {
        guard let first = rest.first else { return nil }
        let end: Substring.Index
        switch first {
        case "'", "\"":
            let close = rest.dropFirst().firstIndex(of: first)
            end = close.map { rest.index(after: $0) } ?? rest.endIndex
        case "-" where rest.hasPrefix("--"):
            end = rest.firstIndex(of: "\n") ?? rest.endIndex
        case "?":
            end = rest.dropFirst().firstIndex { !$0.isNumber } ?? rest.endIndex
        case _ where Self.isWord(first):
            end = rest.firstIndex { !Self.isWord($0) } ?? rest.endIndex
        default:
            end = rest.index(after: rest.startIndex)
        }
        let token = rest[..<end]
        rest = rest[end...]
        isQualified = previous == "."
        previous = token
        return token
    }

    /// Whether a name of ours, written bare, is a word of PostgreSQL's: `user` names the role of the connection.
    func isReserved(_ token: Substring) -> Bool {
        !isQualified && (token == "user" || token == "session_user")
    }

    /// Skips white space and so many words.
    mutating func skipWords(_ count: Int) {
        for _ in 0..<count {
            rest = rest.drop { $0.isWhitespace }.drop { Self.isWord($0) }
        }
    }

    /// Skips `text` after white space, if it comes next.
    mutating func skip(_ text: String) -> Bool {
        let trimmed = rest.drop { $0.isWhitespace }
        guard trimmed.hasPrefix(text) else { return false }
        lastSkipped = trimmed.prefix(text.count)
        rest = trimmed.dropFirst(text.count)
        return true
    }

    private static func isWord(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber) || character == "_"
    }
}
