import Coding
import Crypto

/// The public id of a link: `lnk_` and 26 characters. It is logged; knowing it proves nothing and opens
/// nothing.
package struct LinkID: PrefixedIdentifier {
    package static var prefix: String { "lnk_" }
    package let rawValue: String
    package init(unchecked rawValue: String) { self.rawValue = rawValue }
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

/// The code with which the application's backend completes a link, `brl_…`. The browser or app brings it there.
package struct LinkCode: SecretToken {
    package static var prefix: String { "brl_" }
    package let text: String
    package init(unchecked text: String) { self.text = text }
}

/// Limits of links.
package enum LinkLimits {
    /// Bytes of UTF-8.
    package static let displayName = 128
    /// Wrong codes at completion; this one ends the link.
    package static let tries = 5

    /// Whether this is a valid account name: 1 to 128 bytes without control characters.
    package static func accepts(displayName: String) -> Bool {
        PlainLine.accepts(displayName, maximum: Self.displayName)
    }
}

/// How long a link may take, in seconds, from its creation until its code is redeemed.
package enum LinkLifetime {
    package static let seconds: Int64 = 600
}
