import Accounts
import HTTPTypes

extension WebRoutes {
    /// The routes of docs/openapi.yaml: for pages and apps with a session, and for backends with an API key's scope.
    func apiEntries() -> [RouteEntry] {
        let gate = BackendGate(
            database: database, clock: clock, failures: RateGate(perMinute: configuration.limits.refusedKeysPerMinute))
        let nativeBody = BodyLimit.native(configuration)
        let clientEntries =
            services.openID == nil
            ? []
            : [
                RouteEntry(.get, "/api/v1/clients", scope: .clientsRead, gate, clients),
                RouteEntry(.get, "/api/v1/clients/{id}", scope: .clientsRead, gate, client),
                RouteEntry(.put, "/api/v1/clients/{id}", scope: .clientsWrite, gate, putClient),
                RouteEntry(.delete, "/api/v1/clients/{id}", scope: .clientsWrite, gate, deleteClient),
                RouteEntry(.post, "/api/v1/clients/{id}/secret", scope: .clientsWrite, gate, rotateClientSecret),
                RouteEntry(.get, "/api/v1/users/{id}/applications", scope: .usersRead, gate, userApplications),
                RouteEntry(.delete, "/api/v1/users/{id}/applications", scope: .usersWrite, gate, endUserAccess),
                RouteEntry(
                    .delete, "/api/v1/users/{id}/applications/{client}", scope: .usersWrite, gate, endUserAccess),
            ]
        return [
            RouteEntry(.get, "/api/v1/session", session).read(by: .program, in: .allowed),
            RouteEntry(.get, "/api/v1/session/assertion", assertion).read(by: .program, in: .allowed),
            RouteEntry(.delete, "/api/v1/session", endSession),
            RouteEntry(.delete, "/api/v1/account", body: nativeBody, deleteAccount),
            RouteEntry(.post, "/api/v1/native/challenge", limit: signIns, body: BodyLimit.api, nativeChallenge),
            RouteEntry(.post, "/api/v1/native/sessions", limit: signIns, body: nativeBody, nativeSignIn),
            RouteEntry(.post, "/api/v1/links", scope: .links, gate, createLink),
            RouteEntry(.post, "/api/v1/links/{id}/authorize", limit: signIns, body: nativeBody, authorizeLink),
            RouteEntry(.post, "/api/v1/links/{id}/complete", scope: .links, gate, completeLink),
            RouteEntry(.get, "/.well-known/apple-app-site-association", appAssociation),
            RouteEntry(.get, "/.well-known/jwks.json", publicKeys).read(by: .program, in: .everyone),
            RouteEntry(.post, "/api/v1/introspect", scope: .introspect, gate, introspect).after(introspectByService),
            RouteEntry(.get, "/api/v1/users", scope: .usersRead, gate, query: true, users),
            RouteEntry(.get, "/api/v1/users/{id}", scope: .usersRead, gate, user),
            RouteEntry(.patch, "/api/v1/users/{id}", scope: .usersWrite, gate, patchUser),
            RouteEntry(.delete, "/api/v1/users/{id}", scope: .usersDelete, gate, deleteUser),
            RouteEntry(.get, "/api/v1/users/{id}/credential", scope: .usersRead, gate, credential),
            RouteEntry(.get, "/api/v1/users/{id}/sessions", scope: .usersRead, gate, query: true, userSessions),
            RouteEntry(.delete, "/api/v1/users/{id}/sessions", scope: .usersWrite, gate, query: true, endUserSessions),
            RouteEntry(.delete, "/api/v1/users/{id}/sessions/{session}", scope: .usersWrite, gate, endUserSession),
            RouteEntry(.get, "/api/v1/events", scope: .eventsRead, gate, query: true, events),
            RouteEntry(.get, "/api/v1/webhooks", scope: .webhooksRead, gate, webhooks),
            RouteEntry(.get, "/api/v1/webhooks/dead-letters", scope: .webhooksRead, gate, query: true, deadLetters),
            RouteEntry(.post, "/api/v1/webhooks/retry", scope: .webhooksWrite, gate, retryWebhooks),
            RouteEntry(.post, "/api/v1/webhooks/test", scope: .webhooksWrite, gate, testWebhook),
        ] + clientEntries
    }
}
