import Accounts
import Coding
import Crypto
import HTTPTypes
import Storage

/// The assertion of a plain `/auth/verify?assertion=…`, answered on the loop: kept per session and audience for a
/// minute, so that a busy visitor costs one signature and one database read in that time.
///
/// One per event loop, not Sendable. It runs after a `VerifyFastPath` has found the session live. Assertions are
/// dropped with the session cache's entry, so an ended session or a changed user is never asserted from memory, and
/// with the key that signed them.
final class AssertionFastPath {
    /// Seconds for which an assertion is reused: a receiver can use it for `assertionLifetime` minus this.
    static let reuse: Int64 = 60
    /// Of a typical kept assertion, in bytes.
    private static let keptSize = 800

    /// One audience's, all signed with one key.
    private struct Kept {
        let cache: SessionCache
        var keyID = ""
    }

    private let issuer: AssertionIssuer
    /// By the audience's position in the configuration.
    private var kept: [Kept]
    private let name: [UInt8]

    /// - Parameter memory: for all audiences, in bytes.
    init(
        issuer: AssertionIssuer, directory: any SessionDirectory, limits: SessionLimits, memory: Int
    ) throws(StoreError) {
        self.issuer = issuer
        let reader = try directory.makeReader()
        kept = issuer.audiences.map { _ in
            Kept(
                cache: SessionCache(
                    reader: reader, invalidations: directory.invalidations, limits: limits,
                    memory: memory / issuer.audiences.count, valueSize: Self.keptSize))
        }
        name = Array("\(HTTPField.Name.authRequestAssertion.rawName): ".utf8)
    }

    /// The field's line without a value, including the line end.
    var emptyLine: [UInt8] { name + Array("\r\n".utf8) }

    /// Appends the line for a browser's session and the configured audience; false leaves it to the route.
    func append(token: Digest256, audience: Int, now: Timestamp, to output: inout [UInt8]) -> Bool {
        guard issuer.audiences.indices.contains(audience),
            let signer = issuer.keys.knownSigner(issuer.audiences[audience].algorithm, at: now)
        else { return false }
        if !kept[audience].keyID.isExactly(signer.keyID) {
            kept[audience].cache.removeAll()
            kept[audience].keyID = signer.keyID
        }
        let cache = kept[audience].cache
        // The cache that was asked before decides whether `lastSeenAt` is due.
        let isKept = cache.kept(token, at: now) { value, _ in append(value, now, to: &output) }
        if isKept == true { return true }
        let isMade = try? cache.fill(
            token: token, now: now, prepare: { sign($0, issuer.audiences[audience], now, signer) },
            use: { value, _ in append(value, now, to: &output) })
        return isMade == true
    }

    /// An assertion's time and reuse limit, in milliseconds of eight bytes, and its text; empty if not answerable.
    private func sign(
        _ signedIn: SignedIn, _ audience: AssertionAudience, _ now: Timestamp, _ signer: SigningKeys.Signer
    ) -> [UInt8] {
        guard signedIn.session.kind == .browser, signedIn.user.state == .active,
            let assertion = (try? issuer.sign(signedIn, for: audience, at: now, with: signer)) ?? nil
        else { return [] }
        let end = min(now.adding(seconds: Self.reuse), assertion.expiresAt)
        return [now, end].flatMap { time in
            (0..<8).map { UInt8(truncatingIfNeeded: time.milliseconds >> (56 - 8 * $0)) }
        } + assertion.token.reveal().utf8
    }

    private func append(_ kept: Span<UInt8>, _ now: Timestamp, to output: inout [UInt8]) -> Bool {
        func time(at start: Int) -> Int64 {
            (start..<start + 8).reduce(0) { $0 << 8 | Int64(kept[$1]) }
        }
        guard kept.count > 16, time(at: 0) <= now.milliseconds, now.milliseconds < time(at: 8) else { return false }
        output += name
        output.append(addingCapacity: kept.count) { target in
            for index in 16..<kept.count { target.append(kept[index]) }
            target.append(0x0d)
            target.append(0x0a)
        }
        return true
    }
}
