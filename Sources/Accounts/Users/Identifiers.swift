/// A prefixed identifier, as in the database, JSON and logs. Never a secret.
package protocol PrefixedIdentifier: Hashable, Sendable, CustomStringConvertible {
    static var prefix: String { get }
    var rawValue: String { get }
    init(unchecked rawValue: String)
}

extension PrefixedIdentifier {
    package var description: String { rawValue }
}

/// Bramley's id of a person: `usr_` and 26 characters. Applications store it.
package struct UserID: PrefixedIdentifier {
    package static var prefix: String { "usr_" }
    package let rawValue: String
    package init(unchecked rawValue: String) { self.rawValue = rawValue }
}

/// A session's public id, safe to show: `ses_` and 26 characters. Never the token.
package struct SessionID: PrefixedIdentifier {
    package static var prefix: String { "ses_" }
    package let rawValue: String
    package init(unchecked rawValue: String) { self.rawValue = rawValue }
}

/// An entry of the journal: `evt_` and 26 characters.
package struct EventID: PrefixedIdentifier {
    package static var prefix: String { "evt_" }
    package let rawValue: String
    package init(unchecked rawValue: String) { self.rawValue = rawValue }
}

/// Apple's `sub`: opaque, stable within one developer team.
package struct AppleSubject: Hashable, Sendable {
    package let rawValue: String
    package init(_ rawValue: String) { self.rawValue = rawValue }
}

/// Apple's ten-character Team ID.
package struct TeamID: Hashable, Sendable {
    package let rawValue: String
    package init(_ rawValue: String) { self.rawValue = rawValue }
}

/// The Services ID (web) or a bundle ID (apps): the `client_id` at Apple and the `aud` of its tokens.
package struct ClientID: Hashable, Sendable {
    package let rawValue: String
    package init(_ rawValue: String) { self.rawValue = rawValue }
}
