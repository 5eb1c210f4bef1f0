import Accounts
import Coding
import HTTP

/// The query that a proxy may send to `/auth/verify`: three flags, each at most once and `true` or `false`, and
/// `assertion`, which may also be an audience's name (`VerifyAssertions`).
///
/// A flag with another value is refused, not ignored: otherwise a visitor might get more than was intended. Parameters
/// with other names are the proxy's affair, except `allowed_…`: those restrict whom oauth2-proxy admits, and somebody
/// who changes its address and keeps the query expects that.
enum VerifyQuery {
    static let flags = ["redirect", "optional", cached]
    /// The proxy keeps an answer that holds for every path and method of the host until the clock's next second.
    static let cached = "cached"
    private static let narrowing = "allowed_"
    /// Those of `/oauth2/auth`.
    static let demands = ["allowed_groups", "allowed_emails", "allowed_email_domains"]

    /// Refuses invalid flags, and more parameters than are read.
    static func checkFlags(_ query: Query) throws(Failure) {
        guard query.isWhole else { throw .badRequest("too many parameters") }
        for flag in flags where ![nil, "true", "false"].contains(try query.single(flag)) {
            throw .badRequest("\(flag) is neither true nor false")
        }
    }

    /// Refuses parameters that only `/oauth2/auth` supports, and similar ones.
    static func refuseNarrowing(_ query: Query) throws(Failure) {
        guard query.names(beginningWith: narrowing).isEmpty else {
            throw .badRequest(
                "parameters such as allowed_groups belong to /oauth2/auth; here the rules file decides")
        }
    }

    /// Refuses `allowed_…` that `/oauth2/auth` does not know.
    static func checkDemands(_ query: Query) throws(Failure) {
        guard query.names(beginningWith: narrowing).allSatisfy({ name in demands.contains { $0.isExactly(name) } })
        else { throw .badRequest("there are only \(demands.joined(separator: ", "))") }
    }
}

/// A query of flags only, parsed from its bytes without allocation: `VerifyFastPath` accepts no other.
struct PlainVerifyQuery {
    /// The requested audience, by its position in the configuration.
    private(set) var audience: Int?
    private(set) var isCached = false

    /// With the `words(asking:)` for each audience; nil for everything that `WebRoutes.verify` must examine.
    init?(_ query: ByteRange?, _ bytes: Span<UInt8>, audiences: [[[UInt8]]]) {
        guard let query, !query.isEmpty else { return }
        var seen = 0
        var start = query.range.lowerBound
        for index in query.range.lowerBound...query.range.upperBound {
            guard index == query.range.upperBound || bytes[index] == UInt8(ascii: "&") else { continue }
            let place = start..<index
            // Two words for each flag; the last ones are for no assertion.
            let bit: Int
            if let word = Self.words.firstIndex(where: { Self.equals(bytes, place, $0) }) {
                bit = 1 << (word / 2)
                if word == Self.cachedWord { isCached = true }
            } else if let found = audiences.firstIndex(where: { $0.contains { Self.equals(bytes, place, $0) } }) {
                audience = found
                bit = Self.assertionBit
            } else {
                return nil
            }
            guard seen & bit == 0 else { return nil }
            seen |= bit
            start = index + 1
        }
    }

    /// Plain ways to ask for an audience: its name, also escaped; for the first, or without any, `true`.
    static func words(asking audiences: [AssertionAudience]) -> [[[UInt8]]] {
        if audiences.isEmpty { return [[prefix + Array("true".utf8)]] }
        return audiences.enumerated().map { index, audience in
            let raw = Array(audience.name.utf8)
            let isPlain = raw.allSatisfy { byte in !"&+%#=".utf8.contains(byte) }
            let escaped = Array(PercentEncoding.encodeComponent(audience.name).utf8)
            var values = [escaped]
            if isPlain { values.append(raw) }
            if index == 0 { values.append(Array("true".utf8)) }
            return values.map { prefix + $0 }
        }
    }

    private static let prefix = Array("\(WebRoutes.assertionParameter)=".utf8)
    private static let words: [[UInt8]] =
        VerifyQuery.flags.flatMap { [Array("\($0)=true".utf8), Array("\($0)=false".utf8)] }
        + [prefix + Array("false".utf8)]
    private static let cachedWord = words.firstIndex(of: Array("\(VerifyQuery.cached)=true".utf8))
    private static let assertionBit = 1 << VerifyQuery.flags.count

    private static func equals(_ bytes: Span<UInt8>, _ range: Range<Int>, _ word: [UInt8]) -> Bool {
        guard range.count == word.count else { return false }
        for offset in word.indices where bytes[range.lowerBound + offset] != word[offset] { return false }
        return true
    }
}
