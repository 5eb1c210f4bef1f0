import Accounts
import HTTP
import HTTPTypes

/// `/operator` and below, for the people of `operator.groups`. Without such a group there are no such routes.
struct OperatorRoutes: Sendable {
    private typealias Entry = RouteTable.Entry

    let entries: [RouteTable.Entry]

    init(
        console: OperatorConsole, configuration: WebConfiguration, responses: WebResponses, access: AccountAccess,
        services: WebApplication.Services
    ) {
        let gate = OperatorGate(
            groups: configuration.operatorGroups, configuration: configuration, responses: responses, access: access,
            targets: configuration.returnTargets, clock: services.clock, random: services.random,
            database: services.database,
            limit: RateGate(perMinute: configuration.limits.operatorPerMinute, stopwatch: Stopwatch()))
        let people = OperatorPeople(
            gate: gate, team: configuration.apple.teamID, database: services.database)
        let today = OperatorToday(people: people, console: console, examinations: OperatorExaminations())
        let person = OperatorPerson(people: people)
        let queues = OperatorQueues(people: people, webhooks: services.webhooks)
        let keys = OperatorKeys(gate: gate, database: services.database)
        let clients = services.openID.map { provider in
            let clients = Clients(
                provider.database, audiences: configuration.assertionAudiences.map(\.name), random: services.random)
            return OperatorClients(gate: gate, clients: clients)
        }
        let changes = OperatorChanges(gate: gate, people: people, lists: queues, keys: keys, clients: clients)

        /// For the page of one thing, whose id is in the path.
        func page(
            _ handle: @escaping @Sendable (OperatorGate.Visit, String) async throws(WebFailure) -> ServerResponse
        ) -> RouteTable.Handler {
            { request, parameters throws(WebFailure) in
                let id = parameters["id"] ?? ""
                let admitted = gate.admitting { visit throws(WebFailure) in try await handle(visit, id) }
                return try await admitted(request)
            }
        }
        let clientEntries = clients.map { clients in
            [
                Entry(.get, "/operator/clients", gate.admitting(clients.list)),
                Entry(.get, "/operator/clients/{id}", page(clients.page)),
            ]
        }
        entries =
            [
                Entry(.get, "/operator", gate.admitting(today.page)),
                Entry(.get, "/operator/doctor", gate.admitting(today.doctor)),
                Entry(.get, "/operator/users", gate.admitting(people.list)),
                Entry(.get, "/operator/users/{id}", page(person.page)),
                Entry(.get, "/operator/users/{id}/export", page(person.export)),
                Entry(.get, "/operator/sessions", gate.admitting(OperatorSessions(people: people).list)),
                Entry(.get, "/operator/webhooks", gate.admitting(queues.webhooks)),
                Entry(.get, "/operator/notifications", gate.admitting(queues.notifications)),
                Entry(.get, "/operator/api-keys", gate.admitting(keys.list)),
                Entry(.get, "/operator/audit", gate.admitting(OperatorAudit(people: people).list)),
                Entry(.get, "/operator/change", gate.admitting(changes.page)),
                Entry(.post, "/operator/change", body: RouteTable.BodyLimit.api, gate.admitting(changes.post)),
            ] + (clientEntries ?? [])
    }
}
