package import HTTPTypes

/// The request and response fields that the server uses, recognised once while parsing.
package enum KnownField: UInt8, CaseIterable, Sendable {
    case other
    // Framing and the connection.
    case host, contentLength, transferEncoding, connection, expect, upgrade, trailer, te, keepAlive
    // Requests.
    case accept, acceptEncoding, acceptLanguage, authorization, cookie, origin, referer, userAgent, range
    case ifMatch, ifNoneMatch, ifModifiedSince, ifUnmodifiedSince, priority, pragma, dnt
    case secFetchSite, secFetchMode, secFetchDest, secFetchUser, secGPC
    case secCHUA, secCHUAMobile, secCHUAPlatform, upgradeInsecureRequests
    case accessControlRequestMethod, accessControlRequestHeaders
    case forwarded, via, xForwardedFor, xForwardedProto, xForwardedHost, xForwardedPort, xForwardedURI
    case xForwardedMethod, xOriginalURL, xOriginalURI, xOriginalMethod, xRealIP, xRequestID
    // Both, or responses.
    case cacheControl, contentType, contentEncoding, date, server, eTag, lastModified, location, vary, retryAfter

    /// The name, in lower case. Static for all of these, so making one allocates nothing.
    /// - Precondition: not `.other`, which has no name of its own.
    package var name: HTTPField.Name { KnownFieldNames.shared.names[Int(rawValue)] }
}

/// The names of all known fields, and the table from the bytes of a name to the field.
struct KnownFieldNames: Sendable {
    static let shared = KnownFieldNames()

    /// Indexed by raw value.
    let names: [HTTPField.Name]
    /// Open addressing, a power of two long, at most a quarter full.
    private let slots: [Slot]

    private struct Slot: Sendable {
        var key: FieldNameKey
        var known: KnownField
    }

    private static let slotBits: UInt64 = 8

    init() {
        let unnamed = HTTPField.Name("x-unnamed") ?? .accept
        var names = [HTTPField.Name](repeating: unnamed, count: KnownField.allCases.count)
        let free = Slot(key: FieldNameKey(), known: .other)
        var slots = [Slot](repeating: free, count: 1 << Int(Self.slotBits))
        for (known, text) in Self.spellings {
            if let name = HTTPField.Name(text) { names[Int(known.rawValue)] = name }
            let key = FieldNameKey(text)
            var index = key.slot(bits: Self.slotBits)
            while slots[index].known != .other {
                index = (index + 1) & (slots.count - 1)
            }
            slots[index] = Slot(key: key, known: known)
        }
        self.names = names
        self.slots = slots
    }

    /// The field whose name is in `bytes` from `start` to `end`, in any case.
    @inline(__always)
    func field(in bytes: Span<UInt8>, _ start: Int, _ end: Int) -> KnownField {
        guard end - start <= FieldNameKey.maximumLength else { return .other }
        let key = FieldNameKey(bytes, start, end)
        var index = key.slot(bits: Self.slotBits)
        while true {
            let slot = slots[index]
            if slot.known == .other || slot.key == key { return slot.known }
            index = (index + 1) & (slots.count - 1)
        }
    }

    /// Lower case, so that HTTPTypes keeps the literal itself as its canonical name and copies count no references.
    private static let spellings: [(KnownField, String)] = [
        (.host, "host"), (.contentLength, "content-length"), (.transferEncoding, "transfer-encoding"),
        (.connection, "connection"), (.expect, "expect"), (.upgrade, "upgrade"), (.trailer, "trailer"),
        (.te, "te"), (.keepAlive, "keep-alive"),
        (.accept, "accept"), (.acceptEncoding, "accept-encoding"), (.acceptLanguage, "accept-language"),
        (.authorization, "authorization"), (.cookie, "cookie"), (.origin, "origin"), (.referer, "referer"),
        (.userAgent, "user-agent"), (.range, "range"),
        (.ifMatch, "if-match"), (.ifNoneMatch, "if-none-match"), (.ifModifiedSince, "if-modified-since"),
        (.ifUnmodifiedSince, "if-unmodified-since"), (.priority, "priority"), (.pragma, "pragma"), (.dnt, "dnt"),
        (.secFetchSite, "sec-fetch-site"), (.secFetchMode, "sec-fetch-mode"), (.secFetchDest, "sec-fetch-dest"),
        (.secFetchUser, "sec-fetch-user"), (.secGPC, "sec-gpc"),
        (.secCHUA, "sec-ch-ua"), (.secCHUAMobile, "sec-ch-ua-mobile"), (.secCHUAPlatform, "sec-ch-ua-platform"),
        (.upgradeInsecureRequests, "upgrade-insecure-requests"),
        (.accessControlRequestMethod, "access-control-request-method"),
        (.accessControlRequestHeaders, "access-control-request-headers"),
        (.forwarded, "forwarded"), (.via, "via"), (.xForwardedFor, "x-forwarded-for"),
        (.xForwardedProto, "x-forwarded-proto"), (.xForwardedHost, "x-forwarded-host"),
        (.xForwardedPort, "x-forwarded-port"), (.xForwardedURI, "x-forwarded-uri"),
        (.xForwardedMethod, "x-forwarded-method"), (.xOriginalURL, "x-original-url"),
        (.xOriginalURI, "x-original-uri"),
        (.xOriginalMethod, "x-original-method"), (.xRealIP, "x-real-ip"), (.xRequestID, "x-request-id"),
        (.cacheControl, "cache-control"), (.contentType, "content-type"), (.contentEncoding, "content-encoding"),
        (.date, "date"), (.server, "server"), (.eTag, "etag"), (.lastModified, "last-modified"),
        (.location, "location"), (.vary, "vary"), (.retryAfter, "retry-after"),
    ]
}

/// A field name of at most 32 characters, folded to lower case and packed into words, so that comparing two is exact
/// and cheap. Setting bit 5 folds letters; of all other characters in a token, none becomes a letter, a digit or a
/// hyphen by it, and known names consist only of these.
struct FieldNameKey: Hashable, Sendable {
    static var maximumLength: Int { 32 }

    var first: UInt64 = 0
    var second: UInt64 = 0
    var third: UInt64 = 0
    var fourth: UInt64 = 0
    var count = 0

    init() {}

    init(_ text: String) {
        let bytes = Array(text.utf8)
        self.init(bytes.span, 0, bytes.count)
    }

    @inline(__always)
    init(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) {
        count = end &- start
        first = Self.word(bytes, start, min(start &+ 8, end))
        if count > 8 {
            second = Self.word(bytes, start &+ 8, min(start &+ 16, end))
            if count > 16 {
                third = Self.word(bytes, start &+ 16, min(start &+ 24, end))
                if count > 24 { fourth = Self.word(bytes, start &+ 24, min(start &+ 32, end)) }
            }
        }
    }

    @inline(__always)
    private static func word(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) -> UInt64 {
        var word: UInt64 = 0
        var index = start
        while index < end {
            word = word &<< 8 | UInt64(bytes[index] | 0x20)
            index &+= 1
        }
        return word
    }

    /// The first slot to try in a table of `1 << bits` slots. The words alone decide nothing: a sender whose names
    /// collide only makes its own requests a few comparisons slower.
    @inline(__always)
    func slot(bits: UInt64) -> Int {
        let mixed = (first ^ second &* 3 ^ third &* 5 ^ fourth &* 7 ^ UInt64(truncatingIfNeeded: count))
        return Int(truncatingIfNeeded: (mixed &* 0x9e37_79b9_7f4a_7c15) &>> (64 - bits))
    }
}
