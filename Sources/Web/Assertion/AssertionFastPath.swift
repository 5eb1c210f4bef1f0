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
    /// Seconds an assertion is handed out again: every one received is good for `assertionLifetime` less this.
    static let reuse: Int64 = 60

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
