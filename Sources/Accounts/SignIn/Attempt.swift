package import Coding
package import Crypto

/// One attempt to sign in, as the login page carries it. Nothing is stored until it is used.
package struct Attempt: Sendable {
    /// `state`: base64url of the sealed attempt.
    package var state: String
    /// `nonce`: 256 random bits in base64url.
    package var nonce: String
    /// When the callback begins to refuse it.
    package var expiresAt: Timestamp
    /// Seconds after which the page requests a new one: before half its lifetime.
    package var renewAfter: Int64
}

/// The content of `state`: everything the callback needs from the page that began it. Its targets are validated again
/// when it is opened.
struct SealedAttempt: Sendable {
    /// The attempt that a sign-in uses up, identified by its `state`.
    var used: SignInAttempt
    var nonce: [UInt8]
    var returnTo: ReturnTarget
    /// Where the browser goes when it is cancelled at Apple.
    var errorReturn: ReturnTarget?
    /// The language chosen for the page, unless it is the browser's own; only for texts.
    var language: String?
    /// The link that Apple's answer is for, instead of a sign-in.
    var link: LinkID?

    static let nonceByteCount = 32
    /// The longest `state` that is opened, in characters: the largest return targets and session id, sealed.
    static let maximumStateLength = 4_416

    /// `state`, sealed under the key of the hour of issue.
    func seal(with keyring: SealingKeyring) -> String {
        keyring.sealText(encoded(), issuedAt: used.issuedAt, purpose: SealingPurpose.attempt)
    }

    /// Opens `state`; nil when it is not ours, altered, or sealed by a key we no longer have. Does not check its age.
    static func open(_ state: String, with keyring: SealingKeyring, _ targets: ReturnTargets) -> SealedAttempt? {
        let plaintext = keyring.openText(state, maximumLength: maximumStateLength, purpose: SealingPurpose.attempt)
        guard let plaintext, var opened = SealedAttempt(decoding: plaintext, targets) else { return nil }
        opened.used.id = identifier(of: SHA256.hash(utf8: state), issuedAt: opened.used.issuedAt)
        return opened
    }

    /// The identifier of a used attempt: its issue time in milliseconds, 48 bits, and 208 bits of the SHA-256 of what
    /// identifies it, such as the whole `state`. Attempts used at the same time are thus neighbours in an index, where
    /// whole digests would each touch, and make SQLite write, another page; and the oldest come first.
    static func identifier(of digest: Digest256, issuedAt: Timestamp) -> Digest256 {
        let digest = digest.words
        let time = min(UInt64(clamping: issuedAt.milliseconds), 1 << 48 - 1)
        return Digest256(words: (time << 16 | digest.0 & 0xFFFF, digest.1, digest.2, digest.3))
    }
}

// The plaintext: version · issuedAt (8) · nonce (32) · binding hash (32) · session id, length (1) · return target,
// length (2) · from version 2 the language, length (1) · from version 3 the link, length (1) · in version 4 the target
// of a cancelled sign-in, length (2). Integers are big-endian. The lowest version that can hold it is written, so that
// a process of the previous release opens what it can.
extension SealedAttempt {
    private func encoded() -> [UInt8] {
        let version: UInt8 = errorReturn != nil ? 4 : link != nil ? 3 : language != nil ? 2 : 1
        var bytes = [version] + [UInt8](bigEndian: used.issuedAt.milliseconds) + nonce + used.bindingHash.bytes
        func append(_ text: String?, maximum: Int = 255) {
            let text = Array((text ?? "").utf8.prefix(maximum))
            bytes.append(UInt8(text.count))
            bytes += text
        }
        func append(_ target: ReturnTarget) {
            let location = Array(target.location.utf8.prefix(Int(UInt16.max)))
            bytes += [UInt8](bigEndian: UInt16(location.count)) + location
        }
        append(used.replacing?.rawValue)
        append(returnTo)
        if version >= 2 { append(language, maximum: 35) }
        if version >= 3 { append(link?.rawValue) }
        if let errorReturn { append(errorReturn) }
        return bytes
    }

    private init?(decoding bytes: [UInt8], _ targets: ReturnTargets) {
        var rest = bytes[...]
        func read(_ count: Int) -> ArraySlice<UInt8>? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }
        func text(afterLengthOf size: Int) -> String? {
            guard let length = read(size), let text = read(Int(bigEndianBytes: length)) else { return nil }
            return String(decoding: text, as: UTF8.self)
        }
        guard let version = read(1)?.first, (1...4).contains(version),
            let issuedAt = read(8), let nonce = read(Self.nonceByteCount), let binding = read(32),
            let bindingHash = Digest256(bytes: Array(binding)),
            let session = text(afterLengthOf: 1), let target = text(afterLengthOf: 2)
        else { return nil }
        if version >= 2 {
            guard let tag = text(afterLengthOf: 1) else { return nil }
            language = tag.isEmpty && version > 2 ? nil : tag
        }
        if version >= 3 {
            guard let text = text(afterLengthOf: 1) else { return nil }
            link = LinkID(parsing: text)
            guard link != nil || version > 3 && text.isEmpty else { return nil }
        }
        if version >= 4 {
            guard let text = text(afterLengthOf: 2) else { return nil }
            errorReturn = targets.validate(errorReturn: text)
        }
        guard rest.isEmpty else { return nil }
        self.nonce = Array(nonce)
        used = SignInAttempt(
            issuedAt: Timestamp(milliseconds: Int64(bigEndianBytes: issuedAt)), bindingHash: bindingHash,
            replacing: session.isEmpty ? nil : SessionID(unchecked: session))
        returnTo = targets.validate(target) ?? targets.defaultTarget
    }
}

/// The value of the cookie `__Host-bramley-login`: 256 random bits that tie an attempt to one browser (RFC 9700 §4.7).
/// It does not authenticate anyone and lives as long as an attempt. The sealed attempt and the database have only its
/// hash.
package struct BrowserBinding: Redacted {
    /// Characters of the cookie's value: 32 bytes in unpadded base64url.
    package static let characterCount = 43

    /// The cookie's content. Only for `Set-Cookie`.
    package let cookieValue: String
    package let hash: Digest256

    package static func make(random: any RandomSource) -> BrowserBinding {
        BrowserBinding(trusted: Base64URL.encode(random.bytes(32)))
    }

    /// Parses a cookie's value; nil unless it is exactly what `make` could have written.
    package init?(cookie: String) {
        guard cookie.utf8.count == Self.characterCount, Base64URL.decode(cookie) != nil else { return nil }
        self.init(trusted: cookie)
    }

    private init(trusted cookieValue: String) {
        self.cookieValue = cookieValue
        self.hash = SHA256.hash(utf8: cookieValue)
    }
}

/// The binding in a request's cookies.
package enum BindingCookie: Sendable {
    case absent
    case value(BrowserBinding)
    /// Not written by us, or several of that name.
    case invalid
}
