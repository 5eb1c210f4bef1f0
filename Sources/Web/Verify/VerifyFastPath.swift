package import Accounts
package import Coding
import Crypto
package import HTTP
package import Storage

/// Answers `GET /auth/verify` on the loop, without a task, from what was prepared when the session was first seen.
///
/// One per event loop, not Sendable. It only answers plain requests: HTTP/1.1 that stays open, exactly one session
/// cookie, a live browser session of an active user, and nothing ambiguous from the proxy or in the query. For others
/// it returns false without writing anything, and `WebRoutes.verify` decides. Whatever it accepts, `verify` answers in
/// the same way.
package final class VerifyFastPath {
    private let path: [UInt8]
    private let cookieName: [UInt8]
    private let style: OriginalRequest.Style
    private let currentRules: CurrentAccessRules
    /// A copy of those in force, and their generation.
    private var rules: AccessRules?
    private var generation: UInt64
    private let cache: SessionCache
    private let hasher = SHA256Hasher()
    /// Status line and security fields, the same in every answer.
    private let prefix: [UInt8]
    private let fields = VerifyFields()
    private let nobody = VerifyFields.kept(.nobody)
    /// Present when `assertion.audience` is configured; then `plainPrefix` also says that no assertion was requested.
    private let assertions: AssertionFastPath?
    private let plainPrefix: [UInt8]
    /// How a proxy may ask for each audience.
    private let audiences: [[[UInt8]]]

    /// With those `rules` in force, or nil for the `configuration`'s, and an issuer of assertions. `memory` in bytes is
    /// for the sessions; half of it for their assertions, if any. Throws when the store gives this loop no reader.
    package init(
        configuration: WebConfiguration, directory: any SessionDirectory, rules: CurrentAccessRules? = nil,
        issuer: AssertionIssuer? = nil, memory: Int = 1 << 20
    ) throws(StoreError) {
        path = Array(configuration.publicURL.path(WebRoutes.verifyPattern).utf8)
        cookieName = Array(Cookies(configuration).sessionName.utf8)
        style = configuration.forwardAuth
        currentRules = rules ?? CurrentAccessRules(configuration.accessRules)
        (self.rules, generation) = currentRules.read()
        cache = SessionCache(
            reader: try directory.makeReader(), invalidations: directory.invalidations,
            limits: configuration.sessionLimits, memory: issuer == nil ? memory : memory / 2,
            valueSize: VerifyFields.keptSize)
        prefix = VerifyFields.prefix(ContentSecurityPolicy(configuration))
        if let issuer {
            assertions = try AssertionFastPath(
                issuer: issuer, directory: directory, limits: configuration.sessionLimits, memory: memory / 2)
        } else {
            assertions = nil
        }
        plainPrefix = prefix + (assertions?.emptyLine ?? [])
        audiences = PlainVerifyQuery.words(asking: issuer?.audiences ?? [])
    }

    /// Appends the complete response to `output` and returns true, or leaves it unchanged and returns false. `bytes`
    /// are what `head` was parsed from, `date` the value of `Date`.
    package func answer(
        head: RequestHead, bytes: Span<UInt8>, peerIsTrusted: Bool, now: Timestamp, date: [UInt8],
        into output: inout [UInt8]
    ) -> Bool {
        guard head.method == .get, head.minorVersion == 1, head.keepAlive, case .none = head.framing,
            equals(bytes, head.path, path)
        else { return false }
        if currentRules.generation != generation { (rules, generation) = currentRules.read() }
        var plain = PlainFields()
        guard read(head, bytes, peerIsTrusted, into: &plain),
            let query = PlainVerifyQuery(head.query, bytes, audiences: audiences)
        else { return false }
        let access = rules.map { decide($0, plain, bytes) } ?? .signedIn
        guard let cookie = plain.cookie else {
            guard access == .open else { return false }
            output += plainPrefix
            let kept = nobody
            append(kept.span, date, to: &output)
            return true
        }
        guard access != .restricted, let place = token(in: bytes, cookie) else { return false }
        let token = hasher.hash(bytes.extracting(place.range))
        let start = output.count
        let isKept =
            query.isCached && plain.namesHost
            && rules?.distinguishesRequests(onHost: bytes.extracting(plain.host.range)) != true
        let found = try? cache.lookUp(token: token, now: now, prepare: VerifyFields.kept) { kept, isTouchDue in
            // The ordinary route writes `lastSeenAt`.
            guard !kept.isEmpty, !isTouchDue else { return false }
            if let audience = query.audience, let assertions {
                output += prefix
                guard assertions.append(token: token, audience: audience, now: now, to: &output) else { return false }
            } else {
                output += plainPrefix
            }
            if isKept { output += "X-Accel-Expires: 1\r\n".utf8 }
            append(kept, date, to: &output)
            return true
        }
        guard found == true else {
            output.removeSubrange(start...)
            return false
        }
        return true
    }

    private func append(_ kept: Span<UInt8>, _ date: [UInt8], to output: inout [UInt8]) {
        fields.append(kept, to: &output)
        output.append(contentsOf: "Date: ".utf8)
        output.append(contentsOf: date)
        output.append(contentsOf: "\r\n\r\n".utf8)
    }

    /// The relevant fields, by their ranges.
    private struct PlainFields {
        var cookie: ByteRange?
        /// Whether a trusted proxy sent X-Forwarded-Host.
        var namesHost = false
        var host = ByteRange.empty
        /// Path and query.
        var target = ByteRange.empty
        var method = ByteRange.empty
    }

    /// The result of the rules, as far as it is known here.
    private enum Access {
        /// Nobody needs to be signed in.
        case open
        case signedIn
        /// People are listed, or the description does not suffice: the route decides.
        case restricted
    }

    /// Applies the rules to the request that the proxy described. Allocates nothing.
    private func decide(_ rules: AccessRules, _ plain: PlainFields, _ bytes: Span<UInt8>) -> Access {
        let host = bytes.extracting(plain.host.range)
        guard !plain.target.isEmpty, AccessRules.isCanonicalHost(host) else { return .restricted }
        var end = plain.target.range.lowerBound
        while end < plain.target.range.upperBound, bytes[end] != UInt8(ascii: "?") { end &+= 1 }
        // A plain path has no escapes, so it is already decoded.
        let path = bytes.extracting(plain.target.range.lowerBound..<end)
        switch rules.access(rules.verdict(host: host, path: path, method: bytes.extracting(plain.method.range))) {
        case .everyone, .optional: return .open
        case .signedIn: return .signedIn
        case .listed, nil: return .restricted
        }
    }

    /// Finds the only `Cookie` field and the description; false when either is not plain.
    private func read(
        _ head: RequestHead, _ bytes: Span<UInt8>, _ peerIsTrusted: Bool, into plain: inout PlainFields
    ) -> Bool {
        var seen: UInt64 = 0
        for field in head.fields {
            switch field.known {
            case .cookie:
                guard plain.cookie == nil else { return false }
                plain.cookie = field.value
            case .authorization:
                // The ordinary route decides whether to read it.
                return false
            case .xForwardedProto, .xForwardedHost, .xForwardedURI, .xForwardedMethod, .xOriginalURL,
                .xOriginalURI, .xOriginalMethod:
                guard peerIsTrusted else { continue }
                // The two names of the original URL exclude each other, so they share a bit.
                let name = field.known == .xOriginalURI ? KnownField.xOriginalURL : field.known
                let bit: UInt64 = 1 << UInt64(name.rawValue & 63)
                guard seen & bit == 0, isPlain(field.known, bytes, field.value) else { return false }
                seen |= bit
                if rules != nil { record(field.known, bytes, field.value, in: &plain) }
            default: continue
            }
        }
        plain.namesHost = seen & (1 << UInt64(KnownField.xForwardedHost.rawValue & 63)) != 0
        return true
    }

    /// Records the range of a plain value of the configured style.
    private func record(_ known: KnownField, _ bytes: Span<UInt8>, _ value: ByteRange, in plain: inout PlainFields) {
        switch (style, known) {
        case (.forwarded, .xForwardedHost): plain.host = value
        case (.forwarded, .xForwardedURI): plain.target = value
        case (.forwarded, .xForwardedMethod), (.original, .xOriginalMethod): plain.method = value
        case (.original, .xOriginalURL), (.original, .xOriginalURI):
            // `https://host/…`; a path alone names no host, so no rule can be applied.
            guard bytes[value.range.lowerBound] != UInt8(ascii: "/") else { return }
            var start = value.range.lowerBound
            while bytes[start] != UInt8(ascii: "/") { start &+= 1 }
            start &+= 2
            var slash = start
            while bytes[slash] != UInt8(ascii: "/") { slash &+= 1 }
            plain.host = ByteRange(start, slash)
            plain.target = ByteRange(slash, value.range.upperBound)
        default: return
        }
    }

    /// The session token in the cookie field; nil unless our name is there once, plainly, with what may be a token.
    private func token(in bytes: Span<UInt8>, _ field: ByteRange) -> ByteRange? {
        var found: ByteRange?
        var index = field.range.lowerBound
        let end = field.range.upperBound
        while index < end {
            while index < end, bytes[index] == 0x20 || bytes[index] == 0x09 { index &+= 1 }
            let start = index
            while index < end, bytes[index] != UInt8(ascii: ";") { index &+= 1 }
            if matches(bytes, start, index) {
                let value = start &+ cookieName.count
                // For the ordinary reader, a name followed by a space is still our name.
                guard value < index, bytes[value] == UInt8(ascii: "="), found == nil else { return nil }
                found = ByteRange(value &+ 1, index)
            }
            index &+= 1
        }
        guard let found, isToken(bytes, found) else { return nil }
        return found
    }

    /// Whether our name begins here, followed by something that may end a name.
    private func matches(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) -> Bool {
        guard end &- start >= cookieName.count else { return false }
        for offset in cookieName.indices where bytes[start &+ offset] != cookieName[offset] { return false }
        let next = start &+ cookieName.count
        return next == end || bytes[next] == UInt8(ascii: "=") || bytes[next] == 0x20 || bytes[next] == 0x09
    }

    /// `brs_` and 43 characters of the base64url alphabet, as `SessionToken` parses it.
    private func isToken(_ bytes: Span<UInt8>, _ place: ByteRange) -> Bool {
        guard place.count == SessionToken.prefix.utf8.count + SessionToken.characterCount else { return false }
        var index = place.range.lowerBound
        for byte in SessionToken.prefix.utf8 {
            guard bytes[index] == byte else { return false }
            index &+= 1
        }
        while index < place.range.upperBound {
            switch bytes[index] {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                index &+= 1
            default: return false
            }
        }
        return true
    }

    private func equals(_ bytes: Span<UInt8>, _ place: ByteRange, _ other: [UInt8]) -> Bool {
        guard place.count == other.count else { return false }
        let start = place.range.lowerBound
        for offset in other.indices where bytes[start &+ offset] != other[offset] { return false }
        return true
    }
}
