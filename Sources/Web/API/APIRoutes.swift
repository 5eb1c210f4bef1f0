import Accounts
import HTTP
import HTTPTypes

/// The routes of docs/openapi.yaml: those for pages and apps, which need a session, and those for backends, each
/// requiring an API key with one scope.
struct APIRoutes: Sendable {
    private typealias Entry = RouteTable.Entry
    private typealias BodyLimit = RouteTable.BodyLimit

    let entries: [RouteTable.Entry]

    init(
        configuration: WebConfiguration, responses: WebResponses, services: WebApplication.Services,
        reader: SignedInReader, session: SessionAPI, signIns: RateGate, stopwatch: Stopwatch
    ) {
        let clock = services.clock
        let gate = BackendGate(
            database: services.database, clock: clock,
            failures: RateLimiter(RateGate.limit(perMinute: configuration.limits.refusedKeysPerMinute)),
            stopwatch: stopwatch)
        let account = AccountAPI(
            configuration: configuration, responses: responses, cookies: session.cookies, reader: reader,
            database: services.database, bounces: session.bounces, signIn: services.signIn, gate: signIns, clock: clock)
        let nativeBody = BodyLimit.native(configuration)
        let native = NativeAPI(configuration: configuration, responses: responses, signIn: services.signIn)
        let introspection = IntrospectionAPI(
            configuration: configuration, responses: responses, reader: reader, provider: services.openID)
        let users = UsersAPI(
            team: configuration.apple.teamID, responses: responses, database: services.database, clock: clock,
            operatorGroups: configuration.operatorGroups)
        let credential = CredentialAPI(responses: responses, database: services.database)
        let events = EventsAPI(responses: responses, database: services.database)
        let webhooks = WebhooksAPI(
            responses: responses, endpoints: services.webhooks, clock: clock)
        let clientEntries = services.openID.map { provider -> [Entry] in
            let clients = ClientsAPI(
                responses: responses,
                clients: Clients(
                    provider.database, audiences: configuration.assertionAudiences.map(\.name),
                    random: services.random, isPublicAddress: ClientsAPI.isPublicAddress),
                clock: clock)
            return [
                Entry(.get, "/api/v1/clients", scope: .clientsRead, gate, clients.list),
                Entry(.get, "/api/v1/clients/{id}", scope: .clientsRead, gate, clients.get),
                Entry(.put, "/api/v1/clients/{id}", scope: .clientsWrite, gate, clients.put),
                Entry(.delete, "/api/v1/clients/{id}", scope: .clientsWrite, gate, clients.delete),
                Entry(.post, "/api/v1/clients/{id}/secret", scope: .clientsWrite, gate, clients.rotateSecret),
            ]
        }
        let linkEntries = services.signIn.linking.map { linking -> [Entry] in
            let link = LinksAPI(configuration: configuration, responses: responses, linking: linking)
            return [
                Entry(.post, "/api/v1/links", scope: .links, gate, link.create),
                Entry(.post, "/api/v1/links/{id}/authorize", limit: signIns, body: nativeBody, link.authorize),
                Entry(.post, "/api/v1/links/{id}/complete", scope: .links, gate, link.complete),
            ]
        }
        entries =
            [
                Entry(.get, "/api/v1/session", readers: .allowed, session.get),
                Entry(.delete, "/api/v1/session", session.delete),
                Entry(.delete, "/api/v1/account", body: nativeBody, account.delete),
                Entry(.post, "/api/v1/native/challenge", limit: signIns, body: BodyLimit.api, native.challenge),
                Entry(.post, "/api/v1/native/sessions", limit: signIns, body: nativeBody, native.signIn),
                Entry(.get, "/.well-known/apple-app-site-association", native.association),
                Entry(.post, "/api/v1/introspect", scope: .introspect, gate, introspection.post),
                Entry(.get, "/api/v1/users", scope: .usersRead, gate, users.list),
                Entry(.get, "/api/v1/users/{id}", scope: .usersRead, gate, users.get),
                Entry(.patch, "/api/v1/users/{id}", scope: .usersWrite, gate, users.patch),
                Entry(.delete, "/api/v1/users/{id}", scope: .usersDelete, gate, users.delete),
                Entry(.get, "/api/v1/users/{id}/credential", scope: .usersRead, gate, credential.get),
                Entry(.get, "/api/v1/users/{id}/sessions", scope: .usersRead, gate, users.sessions),
                Entry(.delete, "/api/v1/users/{id}/sessions", scope: .usersWrite, gate, users.endSessions),
                Entry(.delete, "/api/v1/users/{id}/sessions/{session}", scope: .usersWrite, gate, users.endSession),
                Entry(.get, "/api/v1/events", scope: .eventsRead, gate, events.list),
                Entry(.get, "/api/v1/webhooks", scope: .webhooksRead, gate, webhooks.list),
                Entry(.get, "/api/v1/webhooks/dead-letters", scope: .webhooksRead, gate, webhooks.deadLetters),
                Entry(.post, "/api/v1/webhooks/retry", scope: .webhooksWrite, gate, webhooks.retry),
                Entry(.post, "/api/v1/webhooks/test", scope: .webhooksWrite, gate, webhooks.test),
            ] + (clientEntries ?? []) + (linkEntries ?? [])
    }
}
