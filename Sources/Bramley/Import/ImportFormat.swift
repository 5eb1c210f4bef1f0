internal import ArgumentParser
internal import Coding

/// Whose export the lines of an import are. Each line is one person, as that product writes it.
package enum ImportFormat: String, CaseIterable, Sendable {
    /// The members that docs/operate/import.md lists.
    case bramley
    case auth0, firebase, keycloak, supabase
    case nextAuth = "next-auth"

    /// Enough for every export; Bramley's own lines need 4.
    var depth: Int { self == .bramley ? 4 : 32 }

    var layout: ImportLayout? { ImportLayout.ofProducts[self] }
}

extension ImportFormat: ExpressibleByArgument {}

extension ImportLayout {
    fileprivate static let ofProducts: [ImportFormat: ImportLayout] = [
        // https://auth0.com/docs/manage-users/user-accounts/user-profiles/user-profile-structure: the account has the
        // profile of the identity that made it, the others have theirs in `profileData`. An export that names no fields
        // has no `identities`.
        .auth0: ImportLayout(
            identities: "identities", provider: "provider", apple: "apple",
            identity: Fields(
                subject: ["user_id"], email: ["profileData.email"], isVerified: ["profileData.email_verified"],
                isPrivate: ["profileData.is_private_email"], given: ["profileData.given_name"],
                family: ["profileData.family_name"], name: ["profileData.name"]),
            account: Fields(
                email: ["email"], isVerified: ["email_verified"], isPrivate: ["is_private_email"],
                given: ["given_name"], family: ["family_name"], name: ["name"]),
            id: "user_id", idPrefix: "apple|", disabled: "blocked"),
        // https://firebase.google.com/docs/cli/auth: passwords are no entry of `providerUserInfo`.
        .firebase: ImportLayout(
            identities: "providerUserInfo", provider: "providerId", apple: "apple.com",
            identity: Fields(subject: ["rawId"], email: ["email"], name: ["displayName"]),
            account: Fields(email: ["email"], isVerified: ["emailVerified"], name: ["displayName"]),
            id: "localId", otherMethods: ["passwordHash"], disabled: "disabled"),
        // https://www.keycloak.org/docs-api/latest/rest-api/index.html#UserRepresentation: a federated identity has no
        // address. `federationLink` names a directory that the account came from.
        .keycloak: ImportLayout(
            identities: "federatedIdentities", provider: "identityProvider", apple: "apple",
            identity: Fields(subject: ["userId"]),
            account: Fields(
                email: ["email"], isVerified: ["emailVerified"], given: ["firstName"], family: ["lastName"]),
            id: "id", otherMethods: ["credentials", "federationLink"], enabled: "enabled"),
        // https://supabase.com/docs/guides/auth/identities: the table `auth.identities`, and two columns of `auth.users`.
        .supabase: ImportLayout(
            provider: "provider", apple: "apple",
            identity: Fields(
                subject: ["identity_data.sub", "provider_id"], email: ["identity_data.email"],
                isVerified: ["identity_data.email_verified"],
                isPrivate: ["identity_data.custom_claims.is_private_email", "identity_data.is_private_email"],
                name: ["identity_data.full_name", "identity_data.name"]),
            id: "user_id", disabled: "disabled", disabledSince: ["banned_until", "deleted_at"]),
        // https://authjs.dev/concepts/database-models: address and name are the user's, who may have other accounts.
        .nextAuth: ImportLayout(
            provider: "provider", apple: "apple", identity: Fields(subject: ["providerAccountId"]),
            account: Fields(email: ["email"], verifiedAt: ["emailVerified"], name: ["name"]),
            id: "userId", otherMethods: ["otherAccounts"]),
    ]
}

/// What to check when no line of an import named a person, by its first lines.
package struct ImportAdvice: Sendable {
    private static let lines = 20
    private let format: ImportFormat
    private var seen = 0
    private var isOneDocument = false
    private var isUTF16 = false
    private var other: ImportFormat?

    package init(_ format: ImportFormat) { self.format = format }

    package mutating func inspect(_ line: [UInt8]) {
        guard seen < Self.lines else { return }
        seen += 1
        if line.starts(with: [0xFF, 0xFE]) || line.starts(with: [0xFE, 0xFF]) { isUTF16 = true }
        let blanks: [UInt8] = [0x20, 0x09, 0x0D]
        let text = line.filter { !blanks.contains($0) }
        // The first line of a document on several.
        if text == [UInt8(ascii: "{")] || text == [UInt8(ascii: "[")] { isOneDocument = true }
        let limits = JSONLimits(maximumBytes: LineReader.longestLine, maximumDepth: 32)
        guard let value = try? JSONReader.parse(line, limits: limits) else { return }
        guard let object = value.objectValue, object["users"]?.arrayValue == nil else {
            isOneDocument = true
            return
        }
        other = other ?? ImportFormat.allCases.first { $0 != format && $0.recognises(object) }
    }

    package mutating func inspectLongLine() {
        if seen == 0 { isOneDocument = true }
        seen += 1
    }

    package var text: String {
        let cause =
            if isUTF16 {
                "the input is UTF-16 but must be UTF-8. Try iconv -f UTF-16 -t UTF-8 FILE"
            } else if isOneDocument {
                "the input seems to be one JSON document, but each line must be one person. "
                    + "Try jq -c '.users[]' FILE (or '.[]' for a list) | bramley users import - --from \(format.rawValue)"
            } else if let other {
                "the lines seem to be from another product. Try --from \(other.rawValue)"
            } else {
                format.check
            }
        return "nobody was recognised: \(cause)"
    }
}

extension ImportFormat {
    fileprivate func recognises(_ object: JSONObject) -> Bool {
        guard let layout else { return object["appleSubject"] != nil }
        return (try? layout.person(object)) != nil
    }

    fileprivate var check: String {
        switch self {
        case .bramley:
            "each line needs appleSubject, unless --from names the product that wrote the file (docs/operate/import.md)"
        case .auth0: "does the export have the field identities, and people whose provider is apple?"
        case .firebase:
            "does providerUserInfo have entries of apple.com? firebase-tools before May 2026 leaves them out: update it "
                + "and export again"
        case .keycloak:
            "does the realm's export have its users with federatedIdentities, and is the alias of Apple's provider "
                + "apple?"
        case .supabase: "are the lines rows of auth.identities, some of the provider apple?"
        case .nextAuth: "are the lines rows of Account joined with User, some of the provider apple?"
        }
    }
}
