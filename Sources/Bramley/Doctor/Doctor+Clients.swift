internal import Accounts
internal import Coding
internal import Storage
internal import Web

/// The clients of the OpenID provider: whether each can work, and what the database knows of its use.
extension Doctor {
    /// A client that has got no token for this long after it was registered may have been forgotten, in seconds.
    private static let patience: Int64 = 86_400

    /// Nothing without clients.
    static func clients(_ database: Database?, _ configuration: Configuration, at now: Timestamp) async -> [Diagnosis] {
        guard let database else { return [] }
        let clients: [OpenIDClient]
        let endpoints: [WebhookEndpoint]
        do {
            clients = try await database.openIDClients()
            endpoints = try await database.webhookEndpoints()
        } catch {
            return [
                .wrong(
                    .databaseUnusable, "The OpenID Connect clients cannot be read: \(error.text).",
                    next: configuration.storage.advice)
            ]
        }
        guard !clients.isEmpty else { return [] }
        let findings = clients.flatMap { client in
            [
                registration(of: client, configuration), redirects(of: client, configuration.web.publicURL),
                use(of: client, at: now),
                logout(of: client, endpoints.first { $0.url == WebhookEndpoint.url(ofClient: client.id.rawValue) }),
            ].compactMap(\.self)
        }
        guard findings.isEmpty else { return findings }
        return [.good(.openIDClient, clients.count == 1 ? "1 client." : "\(clients.count) clients.")]
    }

    /// The rules at registration may have been others, or `assertion.audience`.
    private static func registration(of client: OpenIDClient, _ configuration: Configuration) -> Diagnosis? {
        let problems = client.problems(audiences: configuration.web.assertionAudiences.map(\.name))
        guard !problems.isEmpty else { return nil }
        return .wrong(
            .openIDClientUnusable, about: client.id.rawValue,
            "It cannot be used: \(problems.map(\.description).joined(separator: "; ")).",
            next: "Change it with bramley clients update, or rename assertion.audience.")
    }

    private static func redirects(of client: OpenIDClient, _ publicURL: PublicURL) -> Diagnosis? {
        let own = publicURL.absolute + "/"
        if let here = client.redirectURIs.first(where: { uri in ownPaths.contains { uri.hasPrefix(own + $0) } }) {
            return .wrong(
                .openIDRedirectUnusable, about: client.id.rawValue,
                "People who sign in are sent to \(here), which is one of Bramley's own pages.",
                next: "Register the program's address with bramley clients update --redirect-uri.")
        }
        let local = client.redirectURIs.first { $0.hasPrefix("http://") }
        guard !client.isPublic, let local, publicURL.isSecure else { return nil }
        return .unsure(
            .openIDRedirectLocal, about: client.id.rawValue,
            "\(local) works only in a browser on the program's machine.",
            next: "For other people, register the program's public address with bramley clients update "
                + "--redirect-uri.")
    }

    private static let ownPaths = ["oidc/", "apple/", "login", "logout", "account", "api/", "static/", ".well-known/"]

    private static func use(of client: OpenIDClient, at now: Timestamp) -> Diagnosis? {
        if let refusedAt = client.lastRefusedAt, client.lastUsedAt.map({ $0 < refusedAt }) ?? true {
            return .wrong(
                .openIDClientRefused, about: client.id.rawValue,
                "At \(refusedAt.rfc3339) it sent a wrong secret"
                    + (client.isPublic ? ": a public client has none." : ", and has received no token since."),
                next: client.isPublic
                    ? "Remove the secret from the program's settings."
                    : "Put the client's secret into the program's settings; bramley clients rotate-secret \(client.id) "
                        + "makes a new one.")
        }
        guard client.lastUsedAt == nil, client.createdAt.adding(seconds: patience) <= now else { return nil }
        return .unsure(
            .openIDClientUnused, about: client.id.rawValue,
            "Registered at \(client.createdAt.rfc3339), it has never received a token.",
            next: "Sign in to the program and compare its settings, or delete it with bramley clients delete "
                + "\(client.id).")
    }

    private static func logout(of client: OpenIDClient, _ endpoint: WebhookEndpoint?) -> Diagnosis? {
        guard let since = endpoint?.failingSince, let failure = endpoint?.lastFailure else { return nil }
        return .wrong(
            .openIDLogoutFailing, about: client.id.rawValue,
            "Since \(since.rfc3339) it has accepted no logout token (\(failure)), so its sessions outlive a sign-out.",
            next:
                "Compare the address with the program's documentation and bramley clients show \(client.id); then run "
                + "bramley webhooks retry --endpoint \(WebhookEndpoint.url(ofClient: client.id.rawValue)).")
    }
}
