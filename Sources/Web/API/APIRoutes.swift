import HTTP
import HTTPTypes
import RelyingParty

/// The routes of docs/openapi.yaml: those for pages and apps, which need a session, and those for backends, each behind an
/// API key with one scope.
struct APIRoutes: Sendable {
    private typealias Entry = RouteTable.Entry

    let entries: [RouteTable.Entry]

    init(
        configuration: WebConfiguration, responses: WebResponses, services: WebApplication.Services,
        reader: SignedInReader, session: SessionAPI, signIns: RateGate, upgrades: RateGate, stopwatch: Stopwatch
    ) {
        let clock = services.clock
        let gate = BackendGate(
            apiKeys: services.apiKeys, clock: clock,
            failures: RateLimiter(RateGate.limit(perMinute: configuration.limits.refusedKeysPerMinute)),
            stopwatch: stopwatch)
        let account = AccountAPI(
            configuration: configuration, responses: responses, cookies: session.cookies, reader: reader,
            users: services.users, bounces: session.bounces, signIn: services.signIn, gate: signIns, clock: clock)
        let native = NativeAPI(configuration: configuration, responses: responses, signIn: services.signIn)
        let introspection = IntrospectionAPI(configuration: configuration, responses: responses, reader: reader)
        let users = UsersAPI(
            team: configuration.apple.teamID, responses: responses, users: services.users, clock: clock)
        let credential = CredentialAPI(responses: responses, users: services.users)
        let events = EventsAPI(responses: responses, journal: services.journal)
        let webhooks = WebhooksAPI(
            responses: responses, endpoints: services.webhooks, audit: services.audit, clock: clock)
        let (reading, writing) = (APIScope.usersRead, APIScope.usersWrite)
        let linkEntries = services.signIn.linking.map { linking -> [Entry] in
            let link = LinksAPI(configuration: configuration, responses: responses, linking: linking)
            let upgrade = UpgradesAPI(configuration: configuration, responses: responses, linking: linking)
            return [
                Entry(method: .post, pattern: "/api/v1/links", handle: gate.requiring(.links, link.create)),
                Entry(
                    method: .post, pattern: "/api/v1/links/{id}/authorize", handle: signIns.limiting(link.authorize)),
                Entry(
                    method: .post, pattern: "/api/v1/links/{id}/complete",
                    handle: gate.requiring(.links, link.complete)),
                Entry(method: .post, pattern: "/api/v1/upgrades", handle: upgrades.limiting(upgrade.start)),
                Entry(
                    method: .post, pattern: "/api/v1/upgrades/{id}/second-factor",
                    handle: upgrades.limiting(upgrade.secondFactor)),
                Entry(
                    method: .post, pattern: "/api/v1/upgrades/{id}/complete",
                    handle: signIns.limiting(upgrade.complete)),
            ]
        }
        entries =
            [
                Entry(method: .get, pattern: "/api/v1/session", handle: session.get).crossOrigin,
                Entry(method: .delete, pattern: "/api/v1/session", handle: session.delete),
                Entry(method: .delete, pattern: "/api/v1/account", handle: account.delete),
                Entry(
                    method: .post, pattern: "/api/v1/native/challenge", handle: signIns.limiting(native.challenge)),
                Entry(method: .post, pattern: "/api/v1/native/sessions", handle: signIns.limiting(native.signIn)),
                Entry(method: .get, pattern: "/.well-known/apple-app-site-association", handle: native.association),
                Entry(
                    method: .post, pattern: "/api/v1/introspect",
                    handle: gate.requiring(.introspect, introspection.post)),
                Entry(method: .get, pattern: "/api/v1/users", handle: gate.requiring(reading, users.list)),
                Entry(method: .get, pattern: "/api/v1/users/{id}", handle: gate.requiring(reading, users.get)),
                Entry(method: .patch, pattern: "/api/v1/users/{id}", handle: gate.requiring(writing, users.patch)),
                Entry(
                    method: .delete, pattern: "/api/v1/users/{id}", handle: gate.requiring(.usersDelete, users.delete)),
                Entry(
                    method: .get, pattern: "/api/v1/users/{id}/credential",
                    handle: gate.requiring(reading, credential.get)),
                Entry(
                    method: .get, pattern: "/api/v1/users/{id}/sessions",
                    handle: gate.requiring(reading, users.sessions)),
                Entry(
                    method: .delete, pattern: "/api/v1/users/{id}/sessions",
                    handle: gate.requiring(writing, users.endSessions)),
                Entry(
                    method: .delete, pattern: "/api/v1/users/{id}/sessions/{session}",
                    handle: gate.requiring(writing, users.endSession)),
                Entry(method: .get, pattern: "/api/v1/events", handle: gate.requiring(.eventsRead, events.list)),
                Entry(method: .get, pattern: "/api/v1/webhooks", handle: gate.requiring(.webhooksRead, webhooks.list)),
                Entry(
                    method: .get, pattern: "/api/v1/webhooks/dead-letters",
                    handle: gate.requiring(.webhooksRead, webhooks.deadLetters)),
                Entry(
                    method: .post, pattern: "/api/v1/webhooks/retry",
                    handle: gate.requiring(.webhooksWrite, webhooks.retry)),
                Entry(
                    method: .post, pattern: "/api/v1/webhooks/test",
                    handle: gate.requiring(.webhooksWrite, webhooks.test)),
            ] + (linkEntries ?? [])
    }
}
