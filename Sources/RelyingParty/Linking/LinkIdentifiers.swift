package import Crypto

/// A link begun by ticket, as applications name it: `lnk_` and 26 characters. Public
/// and logged: nothing is proven and nothing is opened by knowing one.
package struct LinkID: PrefixedIdentifier {
    package static var prefix: String { "lnk_" }
    package let rawValue: String
    package init(unchecked rawValue: String) { self.rawValue = rawValue }
}

/// A link begun by password: `upg_` and 26 characters.
package struct UpgradeID: PrefixedIdentifier {
    package static var prefix: String { "upg_" }
    package let rawValue: String
    package init(unchecked rawValue: String) { self.rawValue = rawValue }
}

/// A link of either style, as it is stored, and as the application's `convert` is told: `attemptID`.
package struct LinkKey: Hashable, Sendable, CustomStringConvertible {
    package let rawValue: String
    package var description: String { rawValue }

    package init(_ id: LinkID) { rawValue = id.rawValue }
    package init(_ id: UpgradeID) { rawValue = id.rawValue }
    package init(unchecked rawValue: String) { self.rawValue = rawValue }

    /// An id as it came from outside, of either style.
    package init?(parsing text: String) {
        if let id = LinkID(parsing: text) {
            self.init(id)
        } else if let id = UpgradeID(parsing: text) {
            self.init(id)
        } else {
            return nil
        }
    }

    /// Nil for a link begun by password.
    package var link: LinkID? { LinkID(parsing: rawValue) }
    /// Nil for a link begun by ticket.
    package var upgrade: UpgradeID? { UpgradeID(parsing: rawValue) }
}

/// An identity that waits for its person to say whether they have an account: `wai_` and 26 characters.
package struct WaitingID: PrefixedIdentifier {
    package static var prefix: String { "wai_" }
    package let rawValue: String
    package init(unchecked rawValue: String) { self.rawValue = rawValue }
}

/// The ticket of a link, `brt_…`: an app authorizes its link by it, and an application ties a link to a waiting identity.
package struct LinkTicket: SecretToken {
    package static var prefix: String { "brt_" }
    package let text: String
    package init(unchecked text: String) { self.text = text }
}

/// The secret in a link's address, `bra_…`: the browser that brings it first is the link's.
package struct LinkAddressToken: SecretToken {
    package static var prefix: String { "bra_" }
    package let text: String
    package init(unchecked text: String) { self.text = text }
}

/// The secret of an upgrade, `bru_…`: whoever proved the password holds it.
package struct UpgradeToken: SecretToken {
    package static var prefix: String { "bru_" }
    package let text: String
    package init(unchecked text: String) { self.text = text }
}

/// What the application's backend completes a link with, `brl_…`. The browser or app brings it there.
package struct LinkCode: SecretToken {
    package static var prefix: String { "brl_" }
    package let text: String
    package init(unchecked text: String) { self.text = text }
}

/// A password on its way to the application's verifier: zeroed when the last holder lets it go, prints `<redacted>`.
package struct Password: Redacted {
    package let bytes: SecretBytes

    /// Takes the bytes over and zeroes the array they came in.
    package init(consuming bytes: inout [UInt8]) {
        self.bytes = SecretBytes(consuming: &bytes)
    }

    /// Lends the bytes, for the length of the call.
    package func withBytes<Result>(_ body: (RawSpan) -> Result) -> Result { bytes.withBytes(body) }
}

/// What is accepted from outside. UTF-8 bytes.
package enum LinkLimits {
    package static let displayName = 128
    package static let username = 320
    package static let password = 1_024
    package static let secondFactorCode = 128
    /// What the verifier may hand out as `challenge`.
    package static let challenge = 1_024
    package static let methods = 8
    package static let methodName = 32
    /// Wrong codes at complete, and second-factor tries; the next one ends the link.
    package static let tries = 5

    /// Whether this may name an account: 1 to 128 bytes without control characters.
    package static func accepts(displayName: String) -> Bool { isPlain(displayName, maximum: Self.displayName) }
    package static func accepts(username: String) -> Bool { isPlain(username, maximum: Self.username) }

    /// Whether this may be the verifier's `challenge`.
    package static func accepts(challenge: String) -> Bool { isPlain(challenge, maximum: Self.challenge) }
    /// Whether these may be names of ways to prove a second factor.
    package static func accepts(methods: [String]) -> Bool {
        methods.count <= Self.methods && methods.allSatisfy { isPlain($0, maximum: methodName) }
    }

    static func isPlain(_ text: String, maximum: Int) -> Bool {
        let count = text.utf8.count
        return count > 0 && count <= maximum
            && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }
}

/// How long a link may take, in seconds, from its creation until its code is redeemed.
package enum LinkLifetime {
    package static let seconds: Int64 = 600
}
