import Coding
import HTTP
import RelyingParty

/// The query of an API request, read strictly: a parameter the route does not have, one that comes twice, or an escape
/// that is none is refused. A misspelt filter must not list everybody.
struct APIQuery: Sendable {
    /// Far more than any route has.
    private static let maximum = 32

    private let values: [String: String]

    /// - Parameter names: those the route has.
    init(_ request: ServerRequest, names: [String] = []) throws(WebFailure) {
        var values: [String: String] = [:]
        let pieces = (request.query ?? "").split(separator: "&")
        guard pieces.count <= Self.maximum else { throw .invalidRequest("too many parameters") }
        for piece in pieces {
            let halves = piece.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let given = try Self.decode(halves[0])
            guard let name = names.first(where: { $0.isExactly(given) }) else {
                throw .invalidRequest("the query has a parameter this route does not have")
            }
            guard values[name] == nil else { throw .invalidRequest("\(name) is given twice") }
            values[name] = halves.count == 2 ? try Self.decode(halves[1]) : ""
        }
        self.values = values
    }

    subscript(name: String) -> String? { values[name] }

    /// `limit`: 1 to 200, 50 when it is not given.
    func limit() throws(WebFailure) -> Int {
        guard let text = values["limit"] else { return 50 }
        let isPlain = !text.hasPrefix("0") && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard isPlain, text.utf8.count <= 3, let limit = Int(text), limit <= UserLimits.pageSize else {
            throw .invalidRequest("limit is no number from 1 to \(UserLimits.pageSize)")
        }
        return limit
    }

    /// Percent-encoding and `+` for a space, as forms write a query.
    private static func decode(_ text: Substring) throws(WebFailure) -> String {
        let bytes = text.utf8.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 }
        guard let decoded = PercentEncoding.decode(bytes), let text = String(validating: decoded, as: UTF8.self) else {
            throw .invalidRequest("the query is not encoded properly")
        }
        return text
    }
}
