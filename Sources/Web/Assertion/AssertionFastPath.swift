import Coding
import Crypto
import HTTP
import HTTPTypes
import RelyingParty

/// The assertion of a plain `/auth/verify?assertion=…`, answered on the loop: kept per session and audience for a
/// minute, so that a busy visitor costs one signature and one database read in that time.
///
/// One per event loop, not Sendable. It runs after a `VerifyFastPath` has found the session live. Assertions are
/// dropped with the session cache's entry, so an ended session or a changed user is never asserted from memory, and
/// with the key that signed them.
final class AssertionFastPath {
    /// Seconds for which an assertion is reused: a receiver can use it for `assertionLifetime` minus this.
    static let reuse: Int64 = 60

    private struct Kept {
        var assertion: Assertion
        /// The whole field line.
        var line: [UInt8]
    }

    /// One session's assertions. A class, so that it is renewed in its place in the cache.
    private final class Entry {
        /// As read when the entry was made; used for the first assertion.
        var fresh: SignedIn?
        /// By the audience's position in the configuration, once signed.
        var kept: [Int: Kept] = [:]

        init(_ signedIn: SignedIn) { fresh = signedIn }
    }

    private let issuer: AssertionIssuer
    private let reader: any SessionReader
    private let cache: SessionCache<Entry>
    private let name: [UInt8]

    /// - Parameter capacity: assertions kept, over all audiences.
    init(
        issuer: AssertionIssuer, directory: any SessionDirectory, limits: SessionLimits, capacity: Int
    ) throws(StoreError) {
        self.issuer = issuer
        reader = try directory.makeReader()
        cache = SessionCache(
            reader: reader, invalidations: directory.invalidations, limits: limits,
            capacity: max(1, capacity / issuer.audiences.count))
        name = Array("\(HTTPField.Name.authRequestAssertion.rawName): ".utf8)
    }

    /// The field's line without a value, including the line end.
    var emptyLine: [UInt8] { name + Array("\r\n".utf8) }

    /// The field's line for a browser's session; nil when the ordinary route must answer.
    /// - Parameter audience: its position in the configuration.
    func line(token: Digest256, audience: Int, now: Timestamp) -> [UInt8]? {
        guard issuer.audiences.indices.contains(audience),
            let signer = issuer.keys.knownSigner(issuer.audiences[audience].algorithm, at: now),
            // The cache that was asked before decides whether `lastSeenAt` is due.
            let found = try? cache.lookUp(token: token, now: now, prepare: { Entry($0) })
        else { return nil }
        let entry = found.value
        if let kept = entry.kept[audience], kept.assertion.keyID.isExactly(signer.keyID),
            now >= kept.assertion.issuedAt, now < kept.assertion.issuedAt.adding(seconds: Self.reuse),
            now < kept.assertion.expiresAt
        {
            return kept.line
        }
        return renew(entry, token, audience, now, signer)
    }

    /// Signs for the session as the database has it now. The entry is still in the cache: whatever is invalidated after
    /// the look-up above removes it before the next one.
    private func renew(
        _ entry: Entry, _ token: Digest256, _ audience: Int, _ now: Timestamp, _ signer: SigningKeys.Signer
    ) -> [UInt8]? {
        var signedIn = entry.fresh
        entry.fresh = nil
        if signedIn == nil { signedIn = (try? reader.signedIn(token: token, at: now)) ?? nil }
        guard let signedIn, signedIn.session.kind == .browser, signedIn.user.state == .active,
            let assertion = (try? issuer.sign(signedIn, for: issuer.audiences[audience], at: now, with: signer)) ?? nil
        else { return nil }
        let line = name + Array(assertion.token.reveal().utf8) + Array("\r\n".utf8)
        entry.kept[audience] = Kept(assertion: assertion, line: line)
        return line
    }
}
