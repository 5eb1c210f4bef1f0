import Coding
import HTTP
import RelyingParty

/// What a proxy's address for `/auth/verify` may say after `?`: two flags, each at most once and `true` or `false`, and
/// `assertion`, which may also be the name of an audience (`VerifyAssertions`).
///
/// A flag in other words is refused, not ignored: nobody could tell whether a visitor gets more than was meant.
/// Parameters of other names are the proxy's affair, but for `allowed_…`: those narrow what oauth2-proxy lets in, and
/// whoever moves its address and keeps the query means that.
enum VerifyQuery {
    static let flags = ["redirect", "optional"]
    private static let narrowing = "allowed_"
    /// Those of `/oauth2/auth`.
    static let demands = ["allowed_groups", "allowed_emails", "allowed_email_domains"]

    /// Refuses flags that are not written as they have to be, and more parameters than are read.
    static func checkFlags(_ query: Query) throws(WebFailure) {
        guard query.isWhole else { throw .badRequest("too many parameters") }
        for flag in flags {
            switch query.value(flag) {
            case .absent, .one("true"), .one("false"): continue
            case .one: throw .badRequest("\(flag) is neither true nor false")
            case .several: throw .badRequest("\(flag) is given more than once")
            }
        }
    }

    /// Refuses what `/oauth2/auth` alone reads, and what looks like it.
    static func checkNothingNarrows(_ query: Query) throws(WebFailure) {
        guard query.names(beginningWith: narrowing).isEmpty else {
            throw .badRequest(
                "allowed_groups and its like belong to /oauth2/auth; here the rules file says who may come in")
        }
    }

    /// Refuses `allowed_…` that `/oauth2/auth` does not know.
    static func checkDemands(_ query: Query) throws(WebFailure) {
        guard query.names(beginningWith: narrowing).allSatisfy({ name in demands.contains { $0.isExactly(name) } })
        else { throw .badRequest("there are only \(demands.joined(separator: ", "))") }
    }
}

/// A query of flags alone, as proxies write it, read from its bytes without allocation: `VerifyFastPath` takes no other.
struct PlainVerifyQuery {
    /// The audience an assertion is asked for, by its place in the configuration.
    private(set) var audience: Int?

    /// - Parameter audiences: the words that ask for each, as `words(asking:)` makes them.
    /// - Returns: nil for everything that `VerifyRoute` has to look at.
    init?(_ query: ByteRange?, _ bytes: Span<UInt8>, audiences: [[[UInt8]]]) {
        guard let query, !query.isEmpty else { return }
        var seen = 0
        var start = query.range.lowerBound
        for index in query.range.lowerBound...query.range.upperBound {
            guard index == query.range.upperBound || bytes[index] == UInt8(ascii: "&") else { continue }
            let place = start..<index
            // Two words for each flag, the last ones for no assertion.
            let bit: Int
            if let word = Self.words.firstIndex(where: { Self.equals(bytes, place, $0) }) {
                bit = 1 << (word / 2)
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

    /// The ways to ask for an audience that are plain: its name as it is, where that needs no escape, and escaped; of the
    /// first one also `true`, which is no mistake where there is none. Whoever writes it otherwise is answered by the route.
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

    private static let prefix = Array("\(VerifyAssertions.parameter)=".utf8)
    private static let words: [[UInt8]] =
        VerifyQuery.flags.flatMap { [Array("\($0)=true".utf8), Array("\($0)=false".utf8)] }
        + [prefix + Array("false".utf8)]
    private static let assertionBit = 1 << VerifyQuery.flags.count

    private static func equals(_ bytes: Span<UInt8>, _ range: Range<Int>, _ word: [UInt8]) -> Bool {
        guard range.count == word.count else { return false }
        for offset in word.indices where bytes[range.lowerBound + offset] != word[offset] { return false }
        return true
    }
}
