internal import ArgumentParser
internal import Coding

/// Whose export the lines of an import are. Each line is one person, as that product writes it.
package enum ImportFormat: String, CaseIterable, Sendable {
    /// The members that docs/importing.md lists.
    case bramley
    case auth0, firebase, keycloak, supabase
    case nextAuth = "next-auth"

    /// Enough for every export; Bramley's own lines need 4.
    var depth: Int { self == .bramley ? 4 : 32 }

    /// Nil for Bramley's own.
    var layout: ImportLayout? {
        switch self {
        case .bramley: nil
        case .auth0: .auth0
        case .firebase: .firebase
        case .keycloak: .keycloak
        case .supabase: .supabase
        case .nextAuth: .nextAuth
        }
    }
}

extension ImportFormat: ExpressibleByArgument {}

extension ImportLayout {
    /// https://auth0.com/docs/manage-users/user-accounts/user-profiles/user-profile-structure: the account has the
    /// profile of the identity that made it, the others have theirs in `profileData`. An export that names no fields
    /// has no `identities`.
    fileprivate static let auth0 = ImportLayout(
        identities: "identities", provider: "provider", apple: "apple",
        identity: Fields(
            subject: ["user_id"], email: ["profileData.email"], isVerified: ["profileData.email_verified"],
            isPrivate: ["profileData.is_private_email"], given: ["profileData.given_name"],
            family: ["profileData.family_name"], name: ["profileData.name"]),
        account: Fields(
            email: ["email"], isVerified: ["email_verified"], isPrivate: ["is_private_email"], given: ["given_name"],
            family: ["family_name"], name: ["name"]),
        id: "user_id", idPrefix: "apple|", disabled: "blocked")

    /// https://firebase.google.com/docs/cli/auth: passwords are no entry of `providerUserInfo`.
    fileprivate static let firebase = ImportLayout(
        identities: "providerUserInfo", provider: "providerId", apple: "apple.com",
        identity: Fields(subject: ["rawId"], email: ["email"], name: ["displayName"]),
        account: Fields(email: ["email"], isVerified: ["emailVerified"], name: ["displayName"]),
        id: "localId", otherWays: ["passwordHash"], disabled: "disabled")

    /// https://www.keycloak.org/docs-api/latest/rest-api/index.html#UserRepresentation: a federated identity has no
    /// address. `federationLink` names a directory that the account came from.
    fileprivate static let keycloak = ImportLayout(
        identities: "federatedIdentities", provider: "identityProvider", apple: "apple",
        identity: Fields(subject: ["userId"]),
        account: Fields(email: ["email"], isVerified: ["emailVerified"], given: ["firstName"], family: ["lastName"]),
        id: "id", otherWays: ["credentials", "federationLink"], enabled: "enabled")

    /// https://supabase.com/docs/guides/auth/identities: the table `auth.identities`, and two columns of `auth.users`.
    fileprivate static let supabase = ImportLayout(
        provider: "provider", apple: "apple",
        identity: Fields(
            subject: ["identity_data.sub", "provider_id"], email: ["identity_data.email"],
            isVerified: ["identity_data.email_verified"],
            isPrivate: ["identity_data.custom_claims.is_private_email", "identity_data.is_private_email"],
            name: ["identity_data.full_name", "identity_data.name"]),
        id: "user_id", disabled: "disabled", disabledSince: ["banned_until", "deleted_at"])

    /// https://authjs.dev/concepts/database-models: address and name are the user's, who may have other accounts.
    fileprivate static let nextAuth = ImportLayout(
        provider: "provider", apple: "apple", identity: Fields(subject: ["providerAccountId"]),
        account: Fields(email: ["email"], verifiedAt: ["emailVerified"], name: ["name"]),
        id: "userId", otherWays: ["otherAccounts"])
}
