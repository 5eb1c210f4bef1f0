import Coding
import Crypto
import HTTP
import HTTPTypes
import RelyingParty

/// The assertion of a plain `/auth/verify?assertion=true`, answered on the loop: kept per session for a minute, so that
/// a busy visitor costs one signature and one look at the database in that time.
///
/// One per event loop, not Sendable. It follows a `VerifyFastPath` that has found the session live. What is kept goes
/// with the session cache's entry, so an ended session or a changed user is never asserted from memory, and with the key
/// that signed it.
final class AssertionFastPath {
    /// What to do about a request's query.
    enum Wish {
        case no, yes
        /// The ordinary route has to read it.
        case unclear
    }

    /// Seconds an assertion is handed out again: every one received is good for `assertionLifetime` less this.
    static let reuse: Int64 = 60

    /// Fewer bytes than the parameters that `Query` still reads could have.
    private static let longestQuery = 60
    private static let parameter = Array(VerifyAssertions.parameter.utf8)
    private static let plainWish = Array("\(VerifyAssertions.parameter)=true".utf8)

    /// One session's; nil until signed. A class, so that it is renewed in its place in the cache.
    private final class Entry {
        /// As read when the entry was made; spent on the first assertion.
        var fresh: SignedIn?
        var assertion: Assertion?
        /// The whole field line.
        var line: [UInt8] = []

        init(_ signedIn: SignedIn) { fresh = signedIn }
    }

    private let issuer: AssertionIssuer
    private let reader: any SessionReader
    private let cache: SessionCache<Entry>
    private let name: [UInt8]

    init(
        issuer: AssertionIssuer, directory: any SessionDirectory, limits: SessionLimits, capacity: Int
    ) throws(StoreError) {
        self.issuer = issuer
        reader = try directory.makeReader()
        cache = SessionCache(
            reader: reader, invalidations: directory.invalidations, limits: limits, capacity: capacity)
        name = Array("\(HTTPField.Name.authRequestAssertion.rawName): ".utf8)
    }

    /// The field's line without a value, line end included.
    var emptyLine: [UInt8] { name + Array("\r\n".utf8) }

    /// Whether the query asks for an assertion, as `Query` reads it; `unclear` where it is not written plainly.
    func wish(_ query: ByteRange?, _ bytes: Span<UInt8>) -> Wish {
        guard let query, !query.isEmpty else { return .no }
        guard query.count <= Self.longestQuery else { return .unclear }
        var found = 0
        var start = query.range.lowerBound
        for index in query.range {
            switch bytes[index] {
            case UInt8(ascii: "&"):
                guard isPlain(bytes, start..<index, &found) else { return .unclear }
                start = index + 1
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "="), UInt8(ascii: "-"), UInt8(ascii: "_"),
                UInt8(ascii: "."), UInt8(ascii: ","):
                break
            // The name may hide in escapes.
            default: return .unclear
            }
        }
        guard isPlain(bytes, start..<query.range.upperBound, &found), found < 2 else { return .unclear }
        return found == 1 ? .yes : .no
    }

    /// Counts `assertion=true`; false for anything else that begins with the name.
    private func isPlain(_ bytes: Span<UInt8>, _ range: Range<Int>, _ found: inout Int) -> Bool {
        func begins(with text: [UInt8]) -> Bool {
            guard range.count >= text.count else { return false }
            for offset in text.indices where bytes[range.lowerBound + offset] != text[offset] { return false }
            return true
        }
        guard begins(with: Self.parameter) else { return true }
        guard range.count == Self.plainWish.count, begins(with: Self.plainWish) else { return false }
        found += 1
        return true
    }

    /// The field's line for a browser's session; nil when the ordinary route has to answer.
    func line(token: Digest256, now: Timestamp) -> [UInt8]? {
        guard let signer = issuer.keys.knownSigner(at: now),
            // Whether `lastSeenAt` is due is the affair of the cache that was asked before.
            let found = try? cache.lookUp(token: token, now: now, prepare: { Entry($0) })
        else { return nil }
        let entry = found.value
        if let assertion = entry.assertion, assertion.keyID.isExactly(signer.keyID), now >= assertion.issuedAt,
            now < assertion.issuedAt.adding(seconds: Self.reuse), now < assertion.expiresAt
        {
            return entry.line
        }
        return renew(entry, token, now, signer)
    }

    /// Signs for the session as the database has it now. The entry is still in the cache's care: whatever is invalidated
    /// after the look-up above takes it out before the next one.
    private func renew(
        _ entry: Entry, _ token: Digest256, _ now: Timestamp, _ signer: SigningKeys.Signer
    ) -> [UInt8]? {
        var signedIn = entry.fresh
        entry.fresh = nil
        if signedIn == nil { signedIn = (try? reader.signedIn(token: token, at: now)) ?? nil }
        guard let signedIn, signedIn.session.kind == .browser, signedIn.user.state == .active,
            let assertion = (try? issuer.sign(signedIn, at: now, with: signer)) ?? nil
        else { return nil }
        entry.assertion = assertion
        entry.line = name + Array(assertion.token.reveal().utf8) + Array("\r\n".utf8)
        return entry.line
    }
}
