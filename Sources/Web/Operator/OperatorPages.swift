import Accounts
import HTTP
import HTTPTypes

/// The pages below `/operator`, for the people of `operator.groups`. Each page is an extension.
struct OperatorPages: Sendable {
    let gate: OperatorGate
    let people: OperatorPeople
    let webhooks: WebhookEndpoints?
    let clients: OperatorClients?
    let console: OperatorConsole
    let examinations = OperatorExaminations()

    var database: Database { people.database }
}

extension WebRoutes {
    /// None where there is no page for operators.
    func operatorEntries() -> [RouteTable.Entry] {
        typealias Entry = RouteTable.Entry
        guard let console = services.console else { return [] }
        let gate = OperatorGate(
            routes: self, limit: RateGate(perMinute: configuration.limits.operatorPerMinute, stopwatch: stopwatch))
        let people = OperatorPeople(gate: gate, team: configuration.apple.teamID, database: database)
        let clients = provider.map { provider in
            let clients = Clients(
                provider.database, audiences: configuration.assertionAudiences.map(\.name), random: random)
            return OperatorClients(gate: gate, clients: clients)
        }
        let pages = OperatorPages(
            gate: gate, people: people, webhooks: endpoints, clients: clients, console: console)

        /// For the page of one thing, whose id is in the path.
        func page(
            _ handle: @escaping @Sendable (OperatorGate.Visit, String) async throws(Failure) -> ServerResponse
        ) -> RouteTable.Handler {
            { request, parameters throws(Failure) in
                let id = parameters["id"] ?? ""
                let admitted = gate.admitting { visit throws(Failure) in try await handle(visit, id) }
                return try await admitted(request)
            }
        }
        let clientEntries = clients.map { clients in
            [
                Entry(.get, "/operator/clients", gate.admitting(clients.list)),
                Entry(.get, "/operator/clients/{id}", page(clients.page)),
            ]
        }
        return [
            Entry(.get, "/operator", gate.admitting(pages.today)),
            Entry(.get, "/operator/doctor", gate.admitting(pages.doctor)),
            Entry(.get, "/operator/users", gate.admitting(people.list)),
            Entry(.get, "/operator/users/{id}", page(pages.person)),
            Entry(.get, "/operator/users/{id}/export", page(pages.personExport)),
            Entry(.get, "/operator/sessions", gate.admitting(pages.sessions)),
            Entry(.get, "/operator/webhooks", gate.admitting(pages.webhooks)),
            Entry(.get, "/operator/notifications", gate.admitting(pages.notifications)),
            Entry(.get, "/operator/api-keys", gate.admitting(pages.apiKeys)),
            Entry(.get, "/operator/audit", gate.admitting(pages.audit)),
            Entry(.get, "/operator/change", gate.admitting(pages.changePage)),
            Entry(.post, "/operator/change", body: RouteTable.BodyLimit.api, gate.admitting(pages.postChange)),
        ] + (clientEntries ?? [])
    }
}
