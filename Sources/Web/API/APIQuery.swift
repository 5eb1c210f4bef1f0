import Accounts
import Coding
import HTTP

/// The query of an API request, parsed strictly: a misspelt filter must not list everyone.
struct APIQuery: Sendable {
    /// Far more than any route has.
    private static let maximum = 32

    private let values: [String: [String]]

    /// With the route's parameters, `names`, and those of them that may be repeated, `lists`.
    init(_ request: ServerRequest, names: [String] = [], lists: [String] = []) throws(Failure) {
        var values: [String: [String]] = [:]
        let pieces = (request.query ?? "").split(separator: "&")
        guard pieces.count <= Self.maximum else { throw .invalidRequest("too many parameters") }
        for piece in pieces {
            let halves = piece.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let given = try Self.decode(halves[0])
            guard let name = (names + lists).first(where: { $0.isExactly(given) }) else {
                throw .invalidRequest(Self.refusal(of: given, names + lists))
            }
            guard values[name] == nil || lists.contains(name) else { throw .invalidRequest("\(name) is given twice") }
            values[name, default: []].append(halves.count == 2 ? try Self.decode(halves[1]) : "")
        }
        self.values = values
    }

    subscript(name: String) -> String? { values[name]?.first }

    /// The values of a list: each of its parameters contains one value, or several separated by commas.
    func list(_ name: String) -> [String] {
        (values[name] ?? []).flatMap { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
    }

    /// Where the previous page ended, in `after`; nil for the first. `cursor` is its former name.
    func place<Place>(
        _ places: Places<Place>, _ problem: String = "after is not a cursor of this list"
    ) throws(Failure) -> Place? {
        if self["cursor"] != nil, self["after"] != nil {
            throw .invalidRequest("cursor is an old name for after; send only one")
        }
        guard let text = self["cursor"] ?? self["after"] else { return nil }
        guard let place = places.place(text) else { throw .invalidRequest(problem) }
        return place
    }

    /// Names what is accepted, and a refused `parameter` or `member` (`kind`) if it is a plain short word: it may be a
    /// secret pasted into the wrong place.
    static func refusal(of given: String, _ known: [String], _ kind: String = "parameter") -> String {
        let isWord =
            (1...32).contains(given.utf8.count)
            && given.utf8.allSatisfy { Base64URL.isCharacter($0) || $0 == UInt8(ascii: ".") }
        let what = isWord ? "unknown \(kind) \(given)" : "unknown \(kind)"
        return "\(what); accepted: \(known.isEmpty ? "none" : known.joined(separator: ", "))"
    }

    /// `limit`: 1 to 200, by default 50.
    func limit() throws(Failure) -> Int {
        guard let text = self["limit"] else { return 50 }
        let isPlain = !text.hasPrefix("0") && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard isPlain, text.utf8.count <= 3, let limit = Int(text), limit <= UserLimits.pageSize else {
            throw .invalidRequest("limit must be a number from 1 to \(UserLimits.pageSize)")
        }
        return limit
    }

    /// Percent-encoding and `+` for a space, as forms write a query.
    private static func decode(_ text: Substring) throws(Failure) -> String {
        let bytes = text.utf8.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 }
        guard let decoded = PercentEncoding.decode(bytes), let text = String(validating: decoded, as: UTF8.self) else {
            throw .invalidRequest("the query is not encoded properly")
        }
        return text
    }
}
