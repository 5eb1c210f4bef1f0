import Accounts
import HTTP
import HTTPTypes

extension WebRoutes {
    /// The routes of docs/openapi.yaml: those for pages and apps, which need a session, and those for backends, each
    /// requiring an API key with one scope.
    func apiEntries() -> [RouteTable.Entry] {
        typealias Entry = RouteTable.Entry
        typealias BodyLimit = RouteTable.BodyLimit
        let gate = BackendGate(
            database: database, clock: clock,
            failures: RateLimiter(RateGate.limit(perMinute: configuration.limits.refusedKeysPerMinute)),
            stopwatch: stopwatch)
        let nativeBody = BodyLimit.native(configuration)
        let clientEntries = provider.map { provider -> [Entry] in
            let clients = ClientsAPI(
                responses: responses,
                clients: Clients(
                    provider.database, audiences: configuration.assertionAudiences.map(\.name), random: random,
                    isPublicAddress: ClientsAPI.isPublicAddress),
                clock: clock)
            return [
                Entry(.get, "/api/v1/clients", scope: .clientsRead, gate, clients.list),
                Entry(.get, "/api/v1/clients/{id}", scope: .clientsRead, gate, clients.get),
                Entry(.put, "/api/v1/clients/{id}", scope: .clientsWrite, gate, clients.put),
                Entry(.delete, "/api/v1/clients/{id}", scope: .clientsWrite, gate, clients.delete),
                Entry(.post, "/api/v1/clients/{id}/secret", scope: .clientsWrite, gate, clients.rotateSecret),
            ]
        }
        return [
            Entry(.get, "/api/v1/session", readers: .allowed, session),
            Entry(.get, "/api/v1/session/assertion", readers: .allowed, assertion),
            Entry(.delete, "/api/v1/session", endSession),
            Entry(.delete, "/api/v1/account", body: nativeBody, deleteAccount),
            Entry(.post, "/api/v1/native/challenge", limit: signIns, body: BodyLimit.api, nativeChallenge),
            Entry(.post, "/api/v1/native/sessions", limit: signIns, body: nativeBody, nativeSignIn),
            Entry(.post, "/api/v1/links", scope: .links, gate, createLink),
            Entry(.post, "/api/v1/links/{id}/authorize", limit: signIns, body: nativeBody, authorizeLink),
            Entry(.post, "/api/v1/links/{id}/complete", scope: .links, gate, completeLink),
            Entry(.get, "/.well-known/apple-app-site-association", appAssociation),
            Entry(.get, "/.well-known/jwks.json", readers: .everyone, publicKeys),
            Entry(.post, "/api/v1/introspect", scope: .introspect, gate, introspect),
            Entry(.get, "/api/v1/users", scope: .usersRead, gate, users),
            Entry(.get, "/api/v1/users/{id}", scope: .usersRead, gate, user),
            Entry(.patch, "/api/v1/users/{id}", scope: .usersWrite, gate, patchUser),
            Entry(.delete, "/api/v1/users/{id}", scope: .usersDelete, gate, deleteUser),
            Entry(.get, "/api/v1/users/{id}/credential", scope: .usersRead, gate, credential),
            Entry(.get, "/api/v1/users/{id}/sessions", scope: .usersRead, gate, userSessions),
            Entry(.delete, "/api/v1/users/{id}/sessions", scope: .usersWrite, gate, endUserSessions),
            Entry(.delete, "/api/v1/users/{id}/sessions/{session}", scope: .usersWrite, gate, endUserSession),
            Entry(.get, "/api/v1/events", scope: .eventsRead, gate, events),
            Entry(.get, "/api/v1/webhooks", scope: .webhooksRead, gate, webhooks),
            Entry(.get, "/api/v1/webhooks/dead-letters", scope: .webhooksRead, gate, deadLetters),
            Entry(.post, "/api/v1/webhooks/retry", scope: .webhooksWrite, gate, retryWebhooks),
            Entry(.post, "/api/v1/webhooks/test", scope: .webhooksWrite, gate, testWebhook),
        ] + (clientEntries ?? [])
    }
}
