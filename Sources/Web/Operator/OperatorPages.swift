import Accounts
import HTTP
import HTTPTypes

/// The pages below `/operator`, for the people of `operator.groups`. Each page is an extension.
struct OperatorPages: Sendable {
    let routes: WebRoutes
    let limit: RateGate
    let console: OperatorConsole

    /// `operator.groups`.
    var groups: [String] { configuration.operatorGroups }
    var configuration: WebConfiguration { routes.configuration }
    var responses: WebResponses { routes.responses }
    var database: Database { routes.database }
    var endpoints: WebhookEndpoints? { routes.endpoints }
    var team: TeamID { configuration.apple.teamID }
}

extension WebRoutes {
    /// Empty if there is no operator's page.
    func operatorEntries() -> [RouteEntry] {
        guard let console = services.console else { return [] }
        let pages = OperatorPages(
            routes: self, limit: RateGate(perMinute: configuration.limits.operatorPerMinute), console: console)

        /// For the page of one thing, whose id is in the path.
        func page(
            _ handle: @escaping @Sendable (OperatorVisit, String) async throws(Failure) -> ServerResponse
        ) -> RouteEntry.Handler {
            { request, parameters throws(Failure) in
                try await pages.admitting { visit throws(Failure) in
                    try await handle(visit, parameters["id"] ?? "")
                }(request)
            }
        }
        let clientEntries =
            services.openID == nil
            ? []
            : [
                RouteEntry(.get, "/operator/clients", pages.admitting(pages.clients)),
                RouteEntry(.get, "/operator/clients/{id}", page(pages.client)),
            ]
        return [
            RouteEntry(.get, "/operator", pages.admitting(pages.today)),
            RouteEntry(.get, "/operator/doctor", pages.admitting(pages.doctor)),
            RouteEntry(.get, "/operator/users", pages.admitting(pages.people)),
            RouteEntry(.get, "/operator/users/{id}", page(pages.person)),
            RouteEntry(.get, "/operator/users/{id}/export", page(pages.personExport)),
            RouteEntry(.get, "/operator/groups", pages.admitting(pages.groupList)),
            RouteEntry(.get, "/operator/server", pages.admitting(pages.server)),
            RouteEntry(.get, "/operator/sessions", pages.admitting(pages.sessions)),
            RouteEntry(.get, "/operator/webhooks", pages.admitting(pages.webhooks)),
            RouteEntry(.get, "/operator/notifications", pages.admitting(pages.notifications)),
            RouteEntry(.get, "/operator/api-keys", pages.admitting(pages.apiKeys)),
            RouteEntry(.get, "/operator/audit", pages.admitting(pages.audit)),
            RouteEntry(.get, "/operator/change", pages.admitting(pages.changePage)),
            RouteEntry(.post, "/operator/change", body: BodyLimit.api, pages.admitting(pages.postChange)),
        ] + clientEntries
    }
}
