import Coding
import HTTP

/// What a proxy's address for `/auth/verify` may say after `?`: three flags, each at most once and `true` or `false`.
///
/// A flag in other words is refused, not ignored: nobody could tell whether a visitor gets more than was meant.
/// Parameters of other names are the proxy's affair, but for `allowed_…`: those narrow what oauth2-proxy lets in, and
/// whoever moves its address and keeps the query means that.
enum VerifyQuery {
    static let flags = ["redirect", "optional", "assertion"]
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
            case .several: throw .badRequest("several \(flag)")
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
    private(set) var wantsAssertion = false

    /// nil for everything that `VerifyRoute` has to look at.
    init?(_ query: ByteRange?, _ bytes: Span<UInt8>) {
        guard let query, !query.isEmpty else { return }
        var seen = 0
        var start = query.range.lowerBound
        for index in query.range.lowerBound...query.range.upperBound {
            guard index == query.range.upperBound || bytes[index] == UInt8(ascii: "&") else { continue }
            guard let word = Self.words.firstIndex(where: { Self.equals(bytes, start..<index, $0) }) else { return nil }
            // Two words for each flag.
            let bit = 1 << (word / 2)
            guard seen & bit == 0 else { return nil }
            seen |= bit
            if word == Self.assertion { wantsAssertion = true }
            start = index + 1
        }
    }

    private static let words = VerifyQuery.flags.flatMap { [Array("\($0)=true".utf8), Array("\($0)=false".utf8)] }
    private static let assertion = words.firstIndex(of: Array("\(VerifyAssertions.parameter)=true".utf8))

    private static func equals(_ bytes: Span<UInt8>, _ range: Range<Int>, _ word: [UInt8]) -> Bool {
        guard range.count == word.count else { return false }
        for offset in word.indices where bytes[range.lowerBound + offset] != word[offset] { return false }
        return true
    }
}
