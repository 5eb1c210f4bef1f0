internal import ArgumentParser
package import Coding

/// Whose export the lines of an import are. Each line is one person, as that product writes it.
package enum ImportFormat: String, CaseIterable, Sendable {
    /// The members that docs/importing.md lists.
    case bramley
    case auth0, firebase, keycloak, supabase
    case nextAuth = "next-auth"

    /// Enough for every export; Bramley's own lines need 4.
    var depth: Int { self == .bramley ? 4 : 32 }

    /// - Returns: the line with the members of `bramley`; nil for a person who has no Apple identity.
    package func person(_ line: JSONObject) -> JSONObject? {
        switch self {
        case .bramley: return line
        case .auth0: return auth0(line)
        case .firebase:
            let entry = identity(in: line["providerUserInfo"], named: "providerId", "apple.com")
            return person(
                subject: entry?["rawId"], id: line["localId"], email: line["email"] ?? entry?["email"],
                isVerified: line["emailVerified"], given: line["displayName"] ?? entry?["displayName"])
        case .keycloak:
            let entry = identity(in: line["federatedIdentities"], named: "identityProvider", "apple")
            return person(
                subject: entry?["userId"], id: line["id"], email: line["email"], isVerified: line["emailVerified"],
                given: line["firstName"], family: line["lastName"])
        case .supabase:
            guard line["provider"]?.stringValue == "apple" else { return nil }
            let data = line["identity_data"]?.objectValue
            return person(
                subject: data?["sub"] ?? line["provider_id"], id: line["user_id"], email: data?["email"],
                isVerified: data?["email_verified"], given: data?["full_name"] ?? data?["name"],
                isPrivate: data?["custom_claims"]?.objectValue?["is_private_email"])
        case .nextAuth:
            guard line["provider"]?.stringValue == "apple" else { return nil }
            // A time, or null.
            let isVerified = line["emailVerified"].map { !$0.isNull } ?? false
            return person(
                subject: line["providerAccountId"], id: line["userId"], email: line["email"],
                isVerified: .bool(isVerified), given: line["name"])
        }
    }

    /// With `identities`, or with what an export has that names no fields: `user_id` is `apple|` and the subject.
    private func auth0(_ line: JSONObject) -> JSONObject? {
        var subject = identity(in: line["identities"], named: "provider", "apple")?["user_id"]
        if line["identities"] == nil, let id = line["user_id"]?.stringValue, id.hasPrefix("apple|") {
            subject = .string(String(id.dropFirst("apple|".count)))
        }
        let hasParts = line["given_name"] != nil || line["family_name"] != nil
        return person(
            subject: subject, id: line["user_id"], email: line["email"], isVerified: line["email_verified"],
            given: hasParts ? line["given_name"] : line["name"], family: line["family_name"])
    }

    private func identity(in list: JSONValue?, named member: String, _ provider: String) -> JSONObject? {
        guard case .array(let entries) = list else { return nil }
        return entries.lazy.compactMap(\.objectValue).first { $0[member]?.stringValue == provider }
    }

    /// - Parameter given: the given name, or the whole name where the product keeps no parts: Apple does not repeat it.
    private func person(
        subject: JSONValue?, id: JSONValue?, email: JSONValue?, isVerified: JSONValue?, given: JSONValue? = nil,
        family: JSONValue? = nil, isPrivate: JSONValue? = nil
    ) -> JSONObject? {
        guard let subject, !subject.isNull else { return nil }
        var result = JSONObject([("appleSubject", subject)])
        if let id { result["externalID"] = id }
        if let email, !email.isNull, email.stringValue != "" {
            result["email"] = email
            if let isVerified { result["emailVerified"] = isVerified }
            if let isPrivate { result["isPrivateEmail"] = isPrivate }
        }
        var name = JSONObject()
        // Auth0 writes the address as the name of people without one.
        if let given, given != email { name["given"] = given }
        if let family { name["family"] = family }
        if !name.isEmpty { result["name"] = .object(name) }
        return result
    }
}

extension ImportFormat: ExpressibleByArgument {}
