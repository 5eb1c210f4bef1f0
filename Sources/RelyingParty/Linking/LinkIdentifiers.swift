import Coding
package import Crypto

/// The public id of a link begun by ticket: `lnk_` and 26 characters. It is logged; knowing it proves nothing and opens
/// nothing.
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

/// A link of either style, as stored and as sent to the application's `convert`: `attemptID`.
package struct LinkKey: Hashable, Sendable, CustomStringConvertible {
    package let rawValue: String
    package var description: String { rawValue }

    package init(_ id: LinkID) { rawValue = id.rawValue }
    package init(_ id: UpgradeID) { rawValue = id.rawValue }
    package init(unchecked rawValue: String) { self.rawValue = rawValue }

    /// Parses an id from outside, of either style.
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

/// An identity waiting for its person to say whether they have an account: `wai_` and 26 characters.
package struct WaitingID: PrefixedIdentifier {
    package static var prefix: String { "wai_" }
    package let rawValue: String
    package init(unchecked rawValue: String) { self.rawValue = rawValue }
}

/// The ticket of a link, `brt_…`: an app authorizes its link with it, and an application connects a link to a waiting
/// identity.
package struct LinkTicket: SecretToken {
    package static var prefix: String { "brt_" }
    package let text: String
    package init(unchecked text: String) { self.text = text }
}

/// The secret in a link's address, `bra_…`. The link belongs to the first browser that brings it.
package struct LinkAddressToken: SecretToken {
    package static var prefix: String { "bra_" }
    package let text: String
    package init(unchecked text: String) { self.text = text }
}

/// The secret of an upgrade, `bru_…`, held by whoever proved the password.
package struct UpgradeToken: SecretToken {
    package static var prefix: String { "bru_" }
    package let text: String
    package init(unchecked text: String) { self.text = text }
}

/// The code with which the application's backend completes a link, `brl_…`. The browser or app brings it there.
package struct LinkCode: SecretToken {
    package static var prefix: String { "brl_" }
    package let text: String
    package init(unchecked text: String) { self.text = text }
}

/// A password on its way to the application's verifier: zeroed when its last holder releases it; prints `<redacted>`.
package struct Password: Redacted {
    package let bytes: SecretBytes

    /// Takes over the bytes and zeroes the array they came in.
    package init(consuming bytes: inout [UInt8]) {
        self.bytes = SecretBytes(consuming: &bytes)
    }

    /// Lends the bytes for the duration of the call.
    package func withBytes<Result>(_ body: (RawSpan) -> Result) -> Result { bytes.withBytes(body) }
}

/// Limits for input, in bytes of UTF-8.
package enum LinkLimits {
    package static let displayName = 128
    package static let username = 320
    package static let password = 1_024
    package static let secondFactorCode = 128
    /// The verifier's `challenge`.
    package static let challenge = 1_024
    package static let methods = 8
    package static let methodName = 32
    /// Wrong codes at completion, and second-factor tries; the next one ends the link.
    package static let tries = 5

    /// Whether this is a valid account name: 1 to 128 bytes without control characters.
    package static func accepts(displayName: String) -> Bool {
        PlainLine.accepts(displayName, maximum: Self.displayName)
    }
    package static func accepts(username: String) -> Bool { PlainLine.accepts(username, maximum: Self.username) }

    /// Whether this is a valid `challenge`.
    package static func accepts(challenge: String) -> Bool { PlainLine.accepts(challenge, maximum: Self.challenge) }
    /// Whether these are valid names of second-factor methods.
    package static func accepts(methods: [String]) -> Bool {
        methods.count <= Self.methods && methods.allSatisfy { PlainLine.accepts($0, maximum: methodName) }
    }
}

/// How long a link may take, in seconds, from its creation until its code is redeemed.
package enum LinkLifetime {
    package static let seconds: Int64 = 600
}
